// SPDX-License-Identifier: GPL-2.0
#version 3.7;
global_settings { assumed_gamma 1 }
camera { location <0, 3, -8> look_at <0, 1, 0> }
light_source { <5, 9, -6> color rgb 1 }
plane { y, 0 pigment { checker color rgb 1 color rgb 0.2 } finish { reflection 0.3 } }
#macro Tower(N, P)
	sphere { P, 0.2 + N * 0.1 pigment { bozo color_map { [0 color rgb <1, 0, 0>] [1 color rgb <0, 0, 1>] } } finish { phong 1 reflection 0.2 } }
	#if (N > 0) Tower(N - 1, P + <0.5 * sin(N), 0.6, 0.5 * cos(N)>) #end
#end
Tower(6, <0, 0.5, 0>)
isosurface { function { x * x + y * y + z * z - 1 + 0.3 * sin(8 * x) } contained_by { box { -1.3, 1.3 } } translate <2, 1, 1> pigment { color rgb <0, 1, 0> } }

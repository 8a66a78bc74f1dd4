# SPDX-License-Identifier: GPL-2.0
# Never ends. Recursion, sorting with a block, exceptions, fibers, regular expressions.
def depth(n : Int32) : Int32
  n == 0 ? "some text".gsub(/[aeiou]/) { |c| c.upcase }.size : 1 + depth(n - 1)
end

def fail(n : Int32)
  raise "bottom" if n == 0
  fail(n - 1)
ensure
  depth(1)
end

channel = Channel(Int32).new
4.times { spawn { loop { channel.send(depth(30)) } } }
sum = 0
loop do
  sum = (sum + channel.receive) % 1000
  [5, 3, 8, 1, 9].sort { |a, b| depth(2); a <=> b }
  begin
    fail(5)
  rescue e
    sum += e.message.to_s.size
  end
  {"a" => sum}.to_s
end

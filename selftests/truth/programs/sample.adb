--  SPDX-License-Identifier: GPL-2.0
--  Never ends. Recursion, nested subprograms that use their parents' variables, exceptions, tasks, containers.
with Ada.Containers.Ordered_Maps;
with Ada.Containers.Generic_Array_Sort;
with Ada.Exceptions; use Ada.Exceptions;
with Ada.Strings.Unbounded; use Ada.Strings.Unbounded;

procedure Sample is
   package Maps is new Ada.Containers.Ordered_Maps (Integer, Unbounded_String);
   type List is array (Positive range <>) of Integer;
   Bottom : exception;
   Total  : Integer := 0 with Volatile;
   Map    : Maps.Map;

   function Depth (N : Natural) return Natural is
   begin
      if N = 0 then
         return To_String (To_Unbounded_String (Integer'Image (Total)))'Length;
      end if;
      return 1 + Depth (N - 1);
   end Depth;

   function Nested (N : Natural) return Integer is
      function Less (A, B : Integer) return Boolean is
      begin
         if N > 0 and then A = 5 then
            Total := Total + Nested (N - 1);
         end if;
         return A < B;
      end Less;
      procedure Sort is new Ada.Containers.Generic_Array_Sort (Positive, Integer, List, "<" => Less);
      Numbers : List := (5, 3, 8, 1, 9, 2);
   begin
      Sort (Numbers);
      return Numbers (1);
   end Nested;

   procedure Fail (N : Natural) is
      Text : constant String := (1 .. N * 3 => 'x');
   begin
      if N = 0 then
         raise Bottom;
      end if;
      Fail (N - 1);
   exception
      when E : others =>
         Total := (Total + Exception_Message (E)'Length + Text'Length) mod 1000;
         raise;
   end Fail;

   task Echo is
      entry Ask (N : in out Natural);
   end Echo;

   task body Echo is
   begin
      loop
         accept Ask (N : in out Natural) do
            N := Depth (N) mod 10;
         end Ask;
      end loop;
   end Echo;

   N : Natural := 3;
begin
   loop
      Total := (Total + Depth (30) + Nested (3)) mod 1000;
      begin
         Fail (6);
      exception
         when Bottom => null;
      end;
      for I in 1 .. 50 loop
         Map.Include (I * 7919 mod 101, To_Unbounded_String (Integer'Image (I)));
      end loop;
      Echo.Ask (N);
   end loop;
end Sample;

{ SPDX-License-Identifier: GPL-2.0 }
{ Never ends. Recursion, nested functions, exceptions, classes, strings. }
program sample;
{$mode objfpc}{$H+}
uses sysutils, classes;
type
  TLeaf = class
    function Value(n: integer): integer; virtual;
  end;
var
  total: integer = 0;
  leaf: TLeaf;
  list: TStringList;
  i: integer;

function TLeaf.Value(n: integer): integer;
begin
  result := length(format('%d %s %f', [n, 'text', n / 7]));
end;

function depth(n: integer): integer;
begin
  if n = 0 then result := leaf.Value(total) else result := 1 + depth(n - 1);
end;

function nested(n: integer): integer;
  function inner(m: integer): integer;
  begin
    if m = 0 then result := n else result := inner(m - 1) + n;
  end;
begin
  if n > 0 then result := nested(n - 1) + inner(5) else result := depth(3);
end;

procedure fail(n: integer);
begin
  try
    if n = 0 then raise exception.create('bottom');
    fail(n - 1);
  finally
    total := (total + nested(1)) mod 1000;
  end;
end;

function compare(list: TStringList; a, b: integer): integer;
begin
  result := comparestr(list[a], list[b]) + depth(2) * 0;
end;

begin
  leaf := TLeaf.create;
  list := TStringList.create;
  while true do
  begin
    total := (total + depth(30) + nested(5)) mod 1000;
    try
      fail(6);
    except
      on e: exception do total := total + length(e.message);
    end;
    list.clear;
    for i := 1 to 50 do list.add(inttostr(i * 7919 mod 101));
    list.customsort(@compare);
  end;
end.

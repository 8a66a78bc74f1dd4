(* SPDX-License-Identifier: GPL-2.0 *)
(* Never ends. Recursion, exceptions, closures, calls through C and back (sorting, comparison, hashing), effects. *)
open Effect
open Effect.Deep

type _ Effect.t += Ask : int -> int Effect.t

exception Bottom of int

let rec depth n leaf = if n = 0 then leaf () else 1 + depth (n - 1) leaf

let rec fail n = if n = 0 then raise (Bottom n) else try fail (n - 1) with Bottom m -> raise (Bottom (m + 1))

let rec nested n =
  let list = List.init 20 (fun i -> i * 7 mod 11) in
  List.hd (List.sort (fun a b -> if n > 0 && a = 5 then nested (n - 1) * 0 + compare a b else compare a b) list)

let ask n = depth n (fun () -> perform (Ask n))

let answer n =
  match_with ask n {
    retc = (fun x -> x);
    exnc = raise;
    effc = (fun (type a) (eff : a t) -> match eff with
      | Ask m -> Some (fun (k : (a, _) continuation) -> continue k (depth 5 (fun () -> m + nested 2)))
      | _ -> None) }

let table = Hashtbl.create 100

let () =
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> ignore (nested 1)));
  while true do
    ignore (depth 30 (fun () -> answer 8));
    ignore (nested 3);
    (try fail 10 with Bottom n -> Hashtbl.replace table (string_of_int n) (Printf.sprintf "%d %f %s" n 1.5 "text"));
    for i = 1 to 50 do Hashtbl.replace table (string_of_int (i * 7919)) (String.make i 'x') done;
    ignore (Marshal.to_string (Array.init 100 (fun i -> string_of_int i)) []);
    Gc.minor ();
    if Random.int 50 = 0 then Gc.full_major ()
  done

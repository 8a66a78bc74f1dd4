# SPDX-License-Identifier: GPL-2.0
# Never ends. Recursion, sorting with blocks, regular expressions with blocks, exceptions, fibers, serialization.
require 'json'
require 'digest'

def depth(n, &leaf) = n == 0 ? leaf.call : 1 + depth(n - 1, &leaf)

def nested(n)
  [5, 3, 8, 1, 9, 2].sort { |a, b| (n > 0 && a == 5 ? nested(n - 1) * 0 : 0) + (a <=> b) }.first
end

def substitute(n) = 'a1 b22 c333'.gsub(/(\w)(\d+)/) { n > 0 ? substitute(n - 1) : $1.upcase }

def failing(n)
  n == 0 ? raise(ArgumentError, 'bottom') : failing(n - 1)
ensure
  depth(3) { 1 }
end

Signal.trap('USR1') { nested(1) }
loop do
  depth(40) { substitute(2).size }
  nested(3)
  begin
    failing(6)
  rescue ArgumentError => e
    e.backtrace.size
  end
  fiber = Fiber.new { 5.times { |i| Fiber.yield depth(i) { nested(1) } } }
  4.times { fiber.resume }
  (1..20).map { |x| Digest::SHA256.hexdigest(x.to_s) }
  JSON.parse(JSON.generate((1..50).map { |x| { 'a' => x, 'b' => [x.to_f, 'text'] } }))
  Marshal.load(Marshal.dump((1..100).to_a))
  GC.start if rand(20) == 0
end

# SPDX-License-Identifier: GPL-2.0
# Never ends. Recursion, sorting with subroutines, code in regular expressions, die and eval, ties, overloading, closures.
use strict;
use warnings;
no warnings 'recursion';

package Number;
use overload '+' => sub { Number->new($_[0]{n} + (ref $_[1] ? $_[1]{n} : $_[1])) }, '""' => sub { main::depth(3, sub { $_[0] }) };
sub new { my ($class, $n) = @_; return bless { n => $n }, $class }
sub DESTROY { main::depth(2, sub { 1 }) }

package Tied;
sub TIEHASH { return bless {}, shift }
sub FETCH { my ($self, $key) = @_; return length($key) > 1 ? main::depth(length $key, sub { 2 }) : 1 }
sub STORE { }

package main;

sub depth { my ($n, $leaf) = @_; return $n == 0 ? $leaf->(0) : 1 + depth($n - 1, $leaf) }

sub nested_sort {
	my $n = shift;
	my @list = sort { nested_sort($n - 1) if $n && $a == 5; $a <=> $b } map { $_ * 7 % 11 } 1 .. 9;
	return $list[0];
}

sub expressions {
	my $n = shift;
	my $text = 'a1 b22 c333 d4444';
	my $count = 0;
	$text =~ s/(\w)(\d+)/$n ? expressions($n - 1) : uc($1) . length($2)/ge;
	'aaaaab' =~ /^(?:a(?{ $count++ }))*b$/;
	my @words = split /\s+/, join(' ', map { sprintf '%05d:%s', $_, 'x' x ($_ % 7) } 1 .. 20);
	return scalar(@words) + $count;
}

sub errors {
	my $n = shift;
	eval { $n ? errors($n - 1) : die { code => 42 }; die "again $n\n" };
	local $@ = $@;
	return ref $@ ? $@->{code} : length $@;
}

$SIG{USR1} = sub { depth(4, sub { errors(2) }) };
while (1) {
	depth(80, sub { errors(5) });
	nested_sort(5);
	expressions(4);
	my $sum = Number->new(1) + 2 + Number->new(3);
	my $text = "$sum";
	tie my %hash, 'Tied';
	my $total = 0;
	$total += $hash{'k' x $_} for 1 .. 8;
	my @grepped = grep { $_ % depth(3, sub { 1 }) } 1 .. 30;
	my $code = eval 'sub { my %h = map { $_ => [$_] } 1 .. 10; return join ",", sort { $a <=> $b } keys %h }';
	$code->();
	my $packed = pack('N*', 1 .. 50) . reverse 'text';
	$total += $_ for unpack("N*", $packed);
}

use strict; use warnings; use File::Temp qw(tempfile); use Time::HiRes qw(time); use List::Util qw(shuffle);
my %h = map { $_ => ord } 'a' .. 'j';
print join(",", keys %h), "\n", join(" ", shuffle(1 .. 10)), "\n", rand(), " ", time(), " ", scalar(localtime), "\n";
my ($fh, $name) = tempfile(); print "$name $$\n";

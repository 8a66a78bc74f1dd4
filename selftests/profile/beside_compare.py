# SPDX-License-Identifier: GPL-2.0
"""The tables of beside-perf, from the texts of perf script and perf report in the current directory."""
import collections
import math
import re
import statistics

KERNEL = 0xffff800000000000


class Sample:
    def __init__(self, head):
        self.head = ' '.join(head.split())
        self.user = []
        self.kernel = []

    def to_main(self):
        """The innermost function, and the places that were called from, up to main; or None."""
        names = [name.split('+0x')[0] for _, name in self.user]
        if 'main' not in names:
            return None
        end = names.index('main') + 1
        return (names[0], *(name for _, name in self.user[1:end]))


def read_script(path):
    samples = []
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            frame = re.match(r'^\s+([0-9a-f]{1,16})(?: (.*))?$', line)
            if not line.strip():
                continue
            if frame and samples:
                address = int(frame[1], 16)
                stack = samples[-1].kernel if address >= KERNEL else samples[-1].user
                stack.append((address, (frame[2] or '[unknown]').strip()))
            else:
                # Without a call graph, the only frame is on the line itself.
                flat = re.match(r'^(.*: )\s*([0-9a-f]+) (.*)$', line)
                samples.append(Sample(flat[1] if flat else line))
                if flat:
                    address = int(flat[2], 16)
                    stack = samples[-1].kernel if address >= KERNEL else samples[-1].user
                    stack.append((address, flat[3].strip()))
    return samples


def addresses(samples):
    """perf 6.1 prints user addresses as of the file: compare the offsets in pages."""
    return [(sample.head, [a for a, _ in sample.kernel], [a & 0xfff for a, _ in sample.user]) for sample in samples]


def read_report(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        # The two versions mark kernel functions that are callers as [k] and as [.].
        return [' '.join(line.split()).replace(' [k] ', ' [.] ') for line in file if re.match(r'^ +[0-9.]+%', line)]


def both_versions(data):
    """What perf's two versions make of one file."""
    host, root = (read_script(f'{data}.{version}.script.txt') for version in ('host', 'root'))
    same = addresses(host) == addresses(root)
    reports = [read_report(f'{data}.{version}.report.txt') for version in ('host', 'root')]
    lines = sum((collections.Counter(reports[0]) & collections.Counter(reports[1])).values())
    print(f'{data:<18} {len(host):>7} {len(root):>7}   {"the same" if same else "DIFFERENT":<10} {lines:>5} of {max(map(len, reports))}')


def ends(data, samples):
    """How many user stacks come from main, and where the others end."""
    stacks = [sample for sample in samples if sample.user]
    early = [sample for sample in stacks if not sample.to_main()]
    last = collections.Counter(sample.user[-1][1].split('+0x')[0] for sample in early)
    first = ', '.join(f'{n} {name}' for name, n in last.most_common(4))
    percent = 100 * (len(stacks) - len(early)) / max(len(stacks), 1)
    frames = sum(len(sample.user) for sample in stacks) / max(len(stacks), 1)
    print(f'{data:<18} {len(stacks):>7} {percent:7.2f}%  {frames:6.1f}   {first}')


def framed(theirs, ours):
    """Stacks of the program with frame pointers."""
    known = collections.Counter(filter(None, (sample.to_main() for sample in ours)))
    shorter = {(stack[0], *stack[2:]) for stack in known if len(stack) > 1}
    counts = collections.Counter()
    for sample in theirs:
        stack = sample.to_main()
        if not stack:
            counts['does not reach main'] += bool(sample.user)
        elif stack in known:
            counts['is also one of ours'] += 1
        elif stack in shorter:
            counts['is one of ours without the caller of the innermost function: prologue or epilogue'] += 1
        else:
            counts['is not among ours'] += 1
    total = sum(counts.values())
    for what, n in counts.most_common():
        print(f'{n:>7} {100 * n / total:7.2f}%  {what}')
    print(f'{len(known):>7} different stacks from main in ours')


def shares(recordings):
    """For each recording: the functions' shares of user mode, and the number of samples."""
    for samples in recordings:
        # In a VM without KVM, the kernel's time is mostly that of the first access to each page, which differs from run to run.
        counts = collections.Counter(sample.user[0][1].split('+0x')[0] for sample in samples if sample.user and not sample.kernel)
        total = sum(counts.values())
        yield collections.Counter({name: n / total for name, n in counts.items()}), total


def hottest(flat, ours):
    """
    The ten hottest functions in recordings by perf without call graphs, and in ours: the mean shares, how much the shares of one
    kind's recordings differ (standard deviation), and the difference of the means in standard errors.
    """
    kinds = [list(shares(recordings)) for recordings in (flat, ours)]
    of_perf = sum((share for share, _ in kinds[0]), collections.Counter())
    for name, _ in of_perf.most_common(10):
        means, deviations, error = [], [], 0
        for kind in kinds:
            values = [share[name] for share, _ in kind]
            mean = statistics.mean(values)
            # Not less than chance makes of so many samples.
            chance = mean * (1 - mean) / statistics.mean(total for _, total in kind)
            means.append(mean)
            deviations.append(statistics.stdev(values))
            error += max(statistics.variance(values), chance) / len(kind)
        distance = abs(means[0] - means[1]) / (math.sqrt(error) or 1)
        print(f'{100 * means[0]:7.2f}% ±{100 * deviations[0]:5.2f} {100 * means[1]:7.2f}% ±{100 * deviations[1]:5.2f}  {distance:5.1f}  {name}')


NAMES = ('framed', 'bash', 'python3')
RECORDINGS = range(1, 6)
print(f'{"file":<18} {"samples, both":>15}   stacks      lines of report that are the same')
for name in NAMES:
    both_versions(f'{name}.ours.data')
read = {f'{name}.{kind}': read_script(f'{name}.{kind}.data.root.script.txt') for name in NAMES for kind in ('perf', 'ours')}
print(f'\n{"file":<18} {"stacks":>7} {"main":>8}  frames   where the others end')
for data, samples in read.items():
    ends(data, samples)
print('\na stack of framed by frame pointers (perf record -g)')
framed(read['framed.perf'], read['framed.ours'])
for name in NAMES:
    print(f'\n    perf           ours          errors  hottest functions of {name} in user mode, {len(RECORDINGS)} recordings each')
    hottest(*([read_script(f'{name}.{kind}{i}.data.root.script.txt') for i in RECORDINGS] for kind in ('flat', 'ours')))

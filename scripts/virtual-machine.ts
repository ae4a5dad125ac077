import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { patientMs } from './patience.ts';

const emulator = 'qemu-system-x86_64';
const busybox = '/bin/busybox';
const programs = [emulator, 'apt-get', 'apt-cache', 'dpkg-deb', 'tar', 'setpriv'];

/** The emulated machine runs the programs of this one. */
export const hasVirtualMachine =
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  process.getuid?.() === 0 &&
  existsSync(busybox) &&
  programs.every((name) => Bun.which(name) !== null);

// Of the kernel's own lines only those of a panic: others would be mixed with those of the script. Where this machine is busy, the kernel takes the
// emulated timer for broken and panics, unless it does not check it.
const kernelWords = 'console=ttyS0 loglevel=1 no_timer_check panic=-1 mitigations=off';
const machine = [
  '-nodefaults -no-user-config -display none -serial stdio -no-reboot'.split(' '),
  '-accel tcg,thread=multi -cpu max -smp 2 -m 2048'.split(' '),
  '-virtfs local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap'.split(' '),
  ['-append', kernelWords],
].flat();

export interface VirtualMachineRun {
  /** Of the script; null if the machine ended before it. */
  code: number | null;
  /** What the script wrote. */
  output: string;
}

/**
 * Boots Debian's kernel, whose control groups are those of version 2, in an emulated machine. It has the files of this machine, but what
 * it changes is in its memory. Its script runs as root.
 */
export async function runInVirtualMachine(
  folder: string,
  { script, msMax }: { script: string; msMax: number },
): Promise<VirtualMachineRun> {
  const { kernel, modules } = await getKernel(folder);
  const initial = await packInitial(folder, { script, modules });
  const child = Bun.spawn(
    ['setpriv', '--pdeathsig', 'KILL', emulator, ...machine, '-kernel', kernel, '-initrd', initial],
    { cwd: folder, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' },
  );
  const timer = setTimeout(() => child.kill('SIGKILL'), patientMs(msMax));
  let output: string;
  try {
    output = (await new Response(child.stdout).text()).replaceAll('\r', '');
    await child.exited;
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
  const code = new RegExp(`^${endMark} (\\d+)$`, 'm').exec(output)?.[1];
  return { code: code === undefined ? null : Number(code), output };
}

const packageName = 'linux-image-amd64';
const neededModules = ['virtio_pci', '9pnet_virtio', '9p', 'overlay', 'tun', 'dummy'];
const unpacked = ['net/9p/', 'fs/', 'drivers/virtio/', 'drivers/net/tun.ko', 'drivers/net/dummy.ko'];

/** From the package, which is not installed. */
async function getKernel(folder: string): Promise<{ kernel: string; modules: string[] }> {
  await run(folder, download, packageName);
  const patterns = ['./boot/vmlinuz-*', ...unpacked.map((path) => `*/kernel/${path}*`)];
  await run(folder, 'dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards "$@"', ...patterns);
  const find = (pattern: string) =>
    [...new Bun.Glob(pattern).scanSync(folder)].map((path) => join(folder, path));
  const [kernel] = find('boot/vmlinuz-*');
  if (!kernel) throw new Error(`The package ${packageName} has no kernel.`);
  await run(folder, 'for file; do xz -d "$file"; done', ...find('lib/modules/**/*.ko.xz'));
  const files = new Map(find('lib/modules/**/*.ko').map((path) => [basename(path, '.ko'), path]));
  return { kernel, modules: inOrder(neededModules, files) };
}

const download = `find_name() { apt-cache depends "$1" | sed -n 's/^ *Depends: \\(linux-image-.*\\)/\\1/p'; }
get() { name=$(find_name "$1") && [ -n "$name" ] && apt-get download -qq "$name"; }
get "$1" 2>/dev/null || { apt-get update -qq && get "$1"; }`;

/** Each after those that it needs. */
function inOrder(names: readonly string[], files: ReadonlyMap<string, string>): string[] {
  const ordered = new Set<string>();
  const add = (name: string): void => {
    // What is not a file is a part of the kernel.
    const path = files.get(name);
    if (path === undefined || ordered.has(path)) return;
    const [, needed = ''] = /\0depends=([^\0]*)\0/.exec(readFileSync(path, 'latin1')) ?? [];
    for (const other of needed.split(',')) add(other.replaceAll('-', '_'));
    ordered.add(path);
  };
  for (const name of names) add(name);
  return [...ordered];
}

const endMark = 'the script ended with';

const init = `#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod "$module" || echo "no $module"; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=524288 machine /machine
$b mount -t tmpfs -o size=75% tmpfs /changes
$b mkdir /changes/upper /changes/work
$b mount -t overlay -o lowerdir=/machine,upperdir=/changes/upper,workdir=/changes/work overlay /root || exec $b poweroff -f
$b mount -t proc proc /root/proc
$b mount -t sysfs sysfs /root/sys
$b mount --move /dev /root/dev
$b mkdir -p /root/dev/pts /root/dev/shm
$b mount -t devpts devpts /root/dev/pts
$b mount -t tmpfs tmpfs /root/dev/shm
$b mount -t tmpfs tmpfs /root/run
$b cp /script /first /root/run
$b mount -t cgroup2 -o nsdelegate cgroup2 /root/sys/fs/cgroup
$b ip link set lo up
# In a mere chroot nobody may create a user namespace.
exec $b switch_root /root /run/first
`;

const first = `#!/bin/busybox sh
/bin/bash /run/script </dev/null
echo "${endMark} $?"
/bin/busybox poweroff -f
`;

async function packInitial(
  folder: string,
  { script, modules }: { script: string; modules: readonly string[] },
): Promise<string> {
  const files = join(folder, 'initial');
  for (const name of ['bin', 'modules', 'dev', 'machine', 'changes', 'root'])
    mkdirSync(join(files, name), { recursive: true });
  copyFileSync(busybox, join(files, 'bin', 'busybox'));
  for (const [at, path] of modules.entries())
    copyFileSync(path, join(files, 'modules', `${String(at).padStart(2, '0')}-${basename(path)}`));
  for (const [name, text] of Object.entries({ init, first })) {
    writeFileSync(join(files, name), text);
    chmodSync(join(files, name), 0o755);
  }
  writeFileSync(join(files, 'script'), script);
  const packed = join(folder, 'initial.cpio');
  await run(files, `${busybox} find . | ${busybox} cpio -o -H newc >"$1"`, packed);
  return packed;
}

async function run(cwd: string, script: string, ...words: string[]): Promise<void> {
  const child = Bun.spawn(['sh', '-c', script, 'sh', ...words], { cwd, stdout: 'ignore', stderr: 'pipe' });
  const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`A step to make the machine ended with ${code}: ${errors}`);
}

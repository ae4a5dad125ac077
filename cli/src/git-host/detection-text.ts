import type { Detection } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';
import type { Style } from '../command.ts';
import { bold, plain } from '../output.ts';

type Found = z.output<typeof Detection>;

const shown = [
  ...(['deploy_method', 'language', 'framework', 'package_manager', 'install_command'] as const),
  ...(['build_command', 'start_command', 'output_dir', 'dockerfile', 'compose_file'] as const),
];

export function detectionText(found: Found, style: Style): string {
  const path = found.path === '' ? '' : ` in ${plain(found.path)}`;
  const width = Math.max(...shown.map((name) => name.length));
  return [
    `${bold(style, plain(found.repo))}${path} at ${plain(found.ref)} (${found.commit.slice(0, 12)})\n\n`,
    ...shown
      .filter((name) => found[name] !== null)
      .map((name) => `${name.padEnd(width)}  ${plain(String(found[name]))}\n`),
    ...(found.evidence.length === 0 ? [] : ['\nTold by:\n']),
    ...found.evidence.map(({ file, says }) => `  ${plain(file)}: ${plain(says)}\n`),
    ...(found.alternatives.length === 0 ? [] : ['\nIt could also be run as:\n']),
    ...found.alternatives.map((plan) => `  ${alternativeText(plan)}\n`),
  ].join('');
}

function alternativeText(plan: Found['alternatives'][number]): string {
  const by = plan.dockerfile ?? plan.compose_file ?? plan.start_command ?? plan.output_dir;
  const words = [plan.deploy_method, plan.framework ?? plan.language, by === null ? null : `(${by})`];
  return words
    .filter((word) => word !== null)
    .map(plain)
    .join(' ');
}

import type { AdminCtx, Result } from '../command.ts';
import { type NamedFinding, runChecks } from '../doctor/run-checks.ts';
import { printable } from '../table.ts';

export async function run(ctx: AdminCtx): Promise<Result> {
  const findings = await runChecks(ctx);
  const problems = findings.filter((finding) => finding.status === 'problem').length;
  const warnings = findings.filter((finding) => finding.status === 'warning').length;
  const checks = findings.map(({ name, status, detail, hint }) => ({ name, status, detail, hint }));
  return {
    json: { ok: problems === 0, checks },
    text: `${checks.map(lineOf).join('')}${problems} problems, ${warnings} warnings.\n`,
    exit: problems === 0 ? 0 : 1,
  };
}

function lineOf({ name, status, detail, hint }: NamedFinding): string {
  const start = `${status.padEnd(8)} ${name.padEnd(16)} `;
  const next = hint === '' ? '' : `${' '.repeat(start.length)}→ ${printable(hint)}\n`;
  return `${start}${printable(detail)}\n${next}`;
}

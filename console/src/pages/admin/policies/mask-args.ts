import type { maskKinds } from '@svc/contract/access-policies.ts';

export type MaskKind = (typeof maskKinds)[number];
export type MaskArgs = Record<string, string | number | boolean>;
export interface Mask {
  column: string;
  kind: MaskKind;
  args: MaskArgs;
}

export const maskTexts: Record<MaskKind, string> = {
  redact: 'redact: the value is hidden',
  hash: 'hash: equal values stay equal',
  partial: 'partial: some characters stay',
  constant: 'constant: a fixed text stands there',
};

const defaults: Record<MaskKind, MaskArgs> = {
  redact: {},
  hash: {},
  partial: { keep: 4 },
  constant: { value: '***' },
};

/** Arguments of one kind mean nothing to another. */
export function withKind(mask: Mask, kind: MaskKind): Mask {
  return { ...mask, kind, args: defaults[kind] };
}

/** What the form has no field for: kept as it is, since the policy may have been written elsewhere. */
export function otherArgs({ kind, args }: Mask): MaskArgs {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !(name in defaults[kind])));
}

export function masksFault(masks: readonly Mask[], columns: { mode: string; names: readonly string[] }) {
  const names = masks.map(({ column }) => column);
  if (names.includes('')) return 'A mask names no column.';
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `${twice} is masked twice.`;
  const hidden = names.find((name) =>
    columns.mode === 'allow'
      ? !columns.names.includes(name)
      : columns.mode === 'deny' && columns.names.includes(name),
  );
  return hidden === undefined ? null : `${hidden} is hidden by the columns above: there is nothing to mask.`;
}

import type { FilterOp, IsKeyword } from '@svc/contract/rows.ts';

/** Operators as people say them, with the word that the text has for them. */
export const opTexts: Record<FilterOp, string> = {
  eq: 'is (eq)',
  neq: 'is not (neq)',
  gt: 'greater than (gt)',
  gte: 'at least (gte)',
  lt: 'less than (lt)',
  lte: 'at most (lte)',
  in: 'one of (in)',
  is: 'is null, true … (is)',
  like: 'like a pattern (like)',
  ilike: 'like, any case (ilike)',
  sw: 'starts with (sw)',
  ew: 'ends with (ew)',
  has: 'contains (has)',
  isw: 'starts, any case (isw)',
  iew: 'ends, any case (iew)',
  ihas: 'contains, any case (ihas)',
  between: 'between (between)',
  cs: 'JSON contains (cs)',
  cd: 'JSON within (cd)',
  hk: 'JSON has key (hk)',
};

export const isTexts: Record<IsKeyword, string> = {
  null: 'null',
  not_null: 'not null',
  true: 'true',
  false: 'false',
};

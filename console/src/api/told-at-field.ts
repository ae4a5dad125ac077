import type { ProblemError } from '@svc/contract/client.ts';

type Item = NonNullable<ProblemError['problem']['errors']>[number];

const told = new WeakSet<Item>();

/** What the server says of a field, to be shown beside it; it is not said a second time below the form. */
export function tellAtField(error: ProblemError, field: string): string | undefined {
  const item = error.problem.errors?.find((one) => one.field === field);
  if (item) told.add(item);
  return item?.detail;
}

/** What no field has shown. */
export function untoldItems(error: ProblemError): Item[] {
  return (error.problem.errors ?? []).filter((item) => !told.has(item));
}

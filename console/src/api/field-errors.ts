import type { ProblemError } from '@svc/contract/client.ts';

type FieldError = NonNullable<ProblemError['problem']['errors']>[number];

const displayed = new WeakSet<FieldError>();

export function takeFieldError(error: ProblemError, field: string): string | undefined {
  const item = error.problem.errors?.find((one) => one.field === field);
  if (item) displayed.add(item);
  return item?.detail;
}

export function remainingErrors(error: ProblemError): FieldError[] {
  return (error.problem.errors ?? []).filter((item) => !displayed.has(item));
}

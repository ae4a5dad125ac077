const keyPattern = /^[a-z0-9][a-z0-9._/-]{0,200}$/;
const prefixPattern = /^([a-z0-9][a-z0-9._/-]{0,200})?$/;

/** Whether the platform could have made it; in a bucket that it shares, others may have put other things. */
export function isKey(text: string): boolean {
  return (
    keyPattern.test(text) && !text.split('/').some((part) => part === '' || part === '.' || part === '..')
  );
}

/** Keys are made here, so one that is not as they are is a mistake of ours, and no refusal of a request. */
export function requireKey(key: string): void {
  if (!isKey(key)) throw new RangeError(`Not a key of the object store: ${JSON.stringify(key)}.`);
}

export function requirePrefix(prefix: string): void {
  if (!prefixPattern.test(prefix))
    throw new RangeError(`Not the beginning of a key of the object store: ${JSON.stringify(prefix)}.`);
}

/** Both ends are included. One that begins beyond the end of the object reads nothing. */
export function requireRange({ start, end }: { start: number; end: number }): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start)
    throw new RangeError(`Not a range of bytes: ${start} to ${end}.`);
}

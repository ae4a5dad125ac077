/** What does not listen to a signal itself: it is not waited for any longer, and its outcome counts for nothing. */
export function unlessAborted<T>(doing: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const leave = () => aborted.reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  doing.catch(() => {});
  return Promise.race([doing, aborted.promise]).finally(() => signal.removeEventListener('abort', leave));
}

export const exitCodes = {
  0: 'done, or previewed',
  1: 'unclassified failure',
  2: 'usage: unknown command or flag, bad value, exclusive flags',
  3: 'not logged in, or a login is required',
  4: 'not permitted',
  5: 'not found, or already gone',
  6: 'conflict or illegal state (409)',
  7: 'rejected input or limit (400, 413, 422)',
  8: 'rate limited',
  9: 'the remote work ended in failure',
  10: 'a wait timed out',
  11: 'a person must act first (approval pending, confirmation missing without a terminal)',
  12: 'no connection',
  13: 'server fault',
  15: 'the plan is stale',
  130: 'interrupted',
} as const;

export type ExitCode = keyof typeof exitCodes;

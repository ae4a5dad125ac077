export const ways = ['template', 'empty', 'fork'] as const;
export type Way = (typeof ways)[number];

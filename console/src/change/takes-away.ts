import type { Plan } from '@svc/contract/plan.ts';

const takingVerbs = /archive|delete|purge|remove|revoke|suspend|disable|disconnect|unpublish|drop/i;

/** Whether something is gone or stands still afterwards, even where it can be brought back. */
export function takesAway({ operation, changes, irreversible }: Plan): boolean {
  return irreversible || takingVerbs.test(operation) || changes.some(({ effect }) => effect === 'delete');
}

import type { Domain } from '@svc/contract/domains.shapes.ts';
import type { z } from 'zod';
import type { AppAccess } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';

export type DomainRecord = z.output<typeof Domain>;

/** An app that is archived keeps its hosts, and takes none. */
export function refuseArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('app_not_active', { detail: 'The app is archived; its domains are kept and not served.' });
}

import type { listDomains } from '@svc/contract/domains.ts';
import type { Answer } from '@svc/contract/endpoint.ts';

export type DomainView = Answer<NonNullable<typeof listDomains.shape>>['items'][number];
export type Check = DomainView['ownership'];

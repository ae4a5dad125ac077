import type { NotificationKind } from '@svc/contract/notifications.ts';
import {
  IconAlertTriangle,
  IconChecklist,
  IconCircleCheck,
  IconCircleX,
  IconClockX,
  IconUserPlus,
  IconUserShare,
  IconWorldX,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';

interface Mark {
  icon: ComponentType<{ size?: number | string }>;
  color: string;
}

const asks: Mark = { icon: IconChecklist, color: 'yellow' };
const good: Mark = { icon: IconCircleCheck, color: 'green' };
const bad: Mark = { icon: IconCircleX, color: 'red' };
const over: Mark = { icon: IconClockX, color: 'gray' };

/** What kind of news it is, at a glance; the title says it in words. */
export const kindIcons: Readonly<Record<NotificationKind, Mark>> = {
  publication_requested: asks,
  publication_approved: good,
  publication_rejected: bad,
  publication_superseded: over,
  publication_expired: over,
  publication_withdrawn: over,
  promotion_requested: asks,
  promotion_approved: good,
  promotion_rejected: bad,
  domain_failing: { icon: IconAlertTriangle, color: 'orange' },
  domain_disconnected: { icon: IconWorldX, color: 'red' },
  co_owner_added: { icon: IconUserPlus, color: 'blue' },
  role_changed: { icon: IconUserShare, color: 'blue' },
  ownership_transferred: { icon: IconUserShare, color: 'blue' },
  deployment_failed: { icon: IconAlertTriangle, color: 'red' },
};

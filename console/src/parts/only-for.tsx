import type { ReactNode } from 'react';
import { Empty } from './empty.tsx';

/** A page for who may read it; the others are told whom it is for. */
export function OnlyFor({ why, what, children }: { why: string | null; what: string; children: ReactNode }) {
  if (why === null) return <>{children}</>;
  return (
    <Empty title={`You can not see ${what}`}>{why.replace('may do this', 'can look at this page')}</Empty>
  );
}

import { Anchor, type AnchorProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';

/** To another page of the console, without loading it anew. */
export function LinkTo({ to, children, ...rest }: AnchorProps & { to: string; children: ReactNode }) {
  return (
    <Anchor component={Link} href={to} {...rest}>
      {children}
    </Anchor>
  );
}

import type { ServiceAccount, ServiceToken } from '@svc/contract/service-accounts.shapes.ts';
import { describeServiceAccountAction, type ServiceAccountAction } from '@svc/contract/service-accounts.ts';
import type { z } from 'zod';
import type { TokenAction } from '../../core/context.ts';
import type { ServiceAccountRow, TrustRuleRow } from './store.ts';
import type { AppTokenRow } from './tokens-store.ts';

export function tokenActions(actions: readonly ServiceAccountAction[]): TokenAction[] {
  return actions.flatMap((action): TokenAction[] => (action === 'rows' ? ['read', 'write'] : [action]));
}

export function serviceAccountRecord(
  row: ServiceAccountRow,
  rules: readonly TrustRuleRow[],
): z.output<typeof ServiceAccount> {
  return {
    ...row,
    allows: row.actions.map(describeServiceAccountAction),
    trust: rules
      .filter((rule) => rule.account_id === row.id)
      .map(({ id, issuer, audience, claims, created_at }) => ({
        id,
        issuer,
        audience,
        claims,
        created_at: created_at.toISOString(),
      })),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function serviceTokenRecord(row: AppTokenRow, now: Date): z.output<typeof ServiceToken> {
  const expiresAt = row.expires_at ?? now;
  return {
    id: row.id,
    account_id: row.account_id ?? '',
    name: row.name,
    hint: row.hint,
    kind: row.kind === 'exchanged' ? 'exchanged' : 'created',
    status: expiresAt <= now ? 'expired' : 'active',
    created_at: row.created_at.toISOString(),
    expires_at: expiresAt.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? '',
  };
}

/** Every claim of the rule must be in the token, as a text or a number, and match its pattern as a whole. */
export function matchesClaims(
  patterns: Readonly<Record<string, string>>,
  claims: Readonly<Record<string, unknown>>,
): boolean {
  const entries = Object.entries(patterns);
  return (
    entries.length > 0 &&
    entries.every(([name, pattern]) => {
      const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
      return (
        ['string', 'number', 'boolean'].includes(typeof value) && matchesClaimPattern(pattern, String(value))
      );
    })
  );
}

/** `*` stands for any characters. Without a regular expression, whose time an attacker could choose. */
export function matchesClaimPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

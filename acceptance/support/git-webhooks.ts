import { createHmac } from 'node:crypto';
import { behind } from './database.ts';
import type { Answered } from './people.ts';
import type { RunningServer } from './server.ts';

export interface Delivery {
  payload: Record<string, unknown>;
  id?: string;
  /** In place of the one that belongs to it. */
  signature?: string;
}

/** Tells the platform what the built-in git host would: with its secret, which nobody outside knows. */
export async function webhookSender(server: RunningServer): Promise<(told: Delivery) => Promise<Answered>> {
  const database = behind(server);
  const [row] = await database.query("select value from svc.platform_keys where name = 'git_host.app'");
  await database.close();
  const { webhookSecret } = JSON.parse(String(row?.value));
  return async ({ payload, id = Bun.randomUUIDv7(), signature }) => {
    const body = JSON.stringify(payload);
    const signed = `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`;
    const answer = await fetch(`${server.baseUrl}/webhooks/git-host`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'push',
        'x-github-delivery': id,
        'x-hub-signature-256': signature ?? signed,
      },
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
  };
}

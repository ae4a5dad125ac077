import { X509Certificate } from 'node:crypto';
import type { Authorization, Client, Order } from 'acme-client';
import {
  type AcmeProblem,
  type AcmeTransport,
  challengeError,
  createAcmeTransport,
  problemError,
} from './acme-transport.ts';

import {
  type CertificateAuthority,
  type CertificateOrder,
  type IssuedCertificate,
  OrderError,
} from './certificate-authority.ts';

export interface AcmeConfig {
  directory: string;
  email: string | null;
  caFile: string | null;
}

export interface AcmeOptions {
  directory: string;
  email: string | undefined;
  trusted: string | undefined;
}

const orderMsMax = 90_000;
const checkMsMax = 5_000;
const pollMsFirst = 250;
const pollMsMax = 5_000;
/** An authority may retry a failed challenge by itself, so only this many failures count. */
const failuresMax = 3;

export function openAcmeAuthority(
  options: AcmeOptions & { accountKey: () => Promise<string> },
): CertificateAuthority {
  return {
    name: options.directory,
    async check() {
      const carry = createAcmeTransport({ ...options, signal: AbortSignal.timeout(checkMsMax) });
      const { data } = await carry(options.directory, 'get');
      if (typeof data !== 'object' || data === null || !('newOrder' in data))
        throw new OrderError('authority_error', `${options.directory} is not an ACME directory.`);
    },
    async order(order) {
      const signal = AbortSignal.any([order.signal, AbortSignal.timeout(orderMsMax)]);
      const client = await openClient(options, createAcmeTransport({ ...options, signal }));
      let publishFailed = false;
      const publish: CertificateOrder['publish'] = (challenge) =>
        order.publish(challenge).catch((error: unknown) => {
          publishFailed = true;
          throw error;
        });
      try {
        return await orderCertificate(client, { ...order, publish, signal }, options.email);
      } catch (error) {
        if (error instanceof OrderError || publishFailed) throw error;
        throw new OrderError('authority_error', error instanceof Error ? error.message : String(error));
      }
    },
  };
}

const loadAcmeClient = async () => (await import('acme-client')).default;

async function openClient(
  options: AcmeOptions & { accountKey: () => Promise<string> },
  transport: AcmeTransport,
): Promise<Client> {
  const client = new (await loadAcmeClient()).Client({
    directoryUrl: options.directory,
    accountKey: await options.accountKey(),
  });
  // This property is not in the library's types; the tests with a real authority notice if it changes.
  (client as unknown as { http: { request: AcmeTransport } }).http.request = transport;
  return client;
}

async function orderCertificate(
  client: Client,
  { host, publish, signal }: CertificateOrder,
  email: string | undefined,
): Promise<IssuedCertificate> {
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
  });
  const order = await client.createOrder({ identifiers: [{ type: 'dns', value: host }] });
  for (const authorization of await client.getAuthorizations(order)) {
    if (authorization.status === 'pending') await answerChallenge(client, authorization, publish);
  }
  await waitForAuthorization(client, order, signal);
  const { crypto } = await loadAcmeClient();
  const [key, csr] = await crypto.createCsr(
    { altNames: [host] },
    await crypto.createPrivateEcdsaKey('P-256'),
  );
  const finalized = await client.finalizeOrder(order, csr);
  const chain = await client.getCertificate(await waitForCertificate(client, finalized, signal));
  const { validFrom, validTo } = new X509Certificate(chain);
  return { chain, key: key.toString(), notBefore: new Date(validFrom), notAfter: new Date(validTo) };
}

async function answerChallenge(
  client: Client,
  authorization: Authorization,
  publish: CertificateOrder['publish'],
): Promise<void> {
  const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
  if (!challenge) throw new OrderError('authority_error', 'The authority does not offer HTTP-01.');
  await publish({ token: challenge.token, text: await client.getChallengeKeyAuthorization(challenge) });
  await client.completeChallenge(challenge);
}

async function waitForAuthorization(client: Client, order: Order, signal: AbortSignal): Promise<void> {
  let failures = 0;
  for await (const _ of pollDelays(signal)) {
    const authorizations = await client.getAuthorizations(order);
    if (authorizations.every(({ status }) => status === 'valid')) return;
    for (const { status, challenges } of authorizations) {
      if (status === 'valid') continue;
      const problem = challenges.map(findProblem).find((it) => it !== null);
      if (problem && (status !== 'pending' || ++failures >= failuresMax)) throw challengeError(problem);
      if (status !== 'pending') throw new OrderError('authority_error', `The authorization is ${status}.`);
    }
  }
}

async function waitForCertificate(client: Client, order: Order, signal: AbortSignal): Promise<Order> {
  let now = order;
  for await (const _ of pollDelays(signal)) {
    if (now.status === 'valid') return now;
    if (now.status === 'invalid') throw problemError(findProblem(now) ?? {});
    now = await client.getOrder(order);
  }
  return now;
}

function findProblem(thing: object): AcmeProblem | null {
  const problem = 'error' in thing ? thing.error : null;
  return typeof problem === 'object' && problem !== null ? problem : null;
}

async function* pollDelays(signal: AbortSignal): AsyncGenerator<void> {
  for (let wait = pollMsFirst; ; wait = Math.min(wait * 2, pollMsMax)) {
    if (signal.aborted) throw new OrderError('authority_error', 'The order timed out.');
    yield;
    await Bun.sleep(wait);
  }
}

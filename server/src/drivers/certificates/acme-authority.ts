import { X509Certificate } from 'node:crypto';
import type { Authorization, Client, Order } from 'acme-client';
import { type AcmeProblem, failureOfChallenge, failureOfProblem } from './acme-problem.ts';
import { type AcmeTransport, createAcmeTransport } from './acme-transport.ts';
import {
  type CertificateAuthority,
  type CertificateOrder,
  type IssuedCertificate,
  OrderFailure,
} from './certificate-authority.ts';

export interface AcmePlace {
  directory: string;
  email: string | undefined;
  /** PEM to trust for the directory's own TLS, instead of what the system trusts. */
  trusted: string | undefined;
}

/** All of one order; it is given up then. */
const orderMsMax = 90_000;
const checkMsMax = 5_000;
const pollMsFirst = 250;
const pollMsMax = 5_000;
/** An authority may try a challenge that failed again by itself; how often it must have failed to count. */
const failuresMax = 3;

/** RFC 8555, with HTTP-01 and nothing else. */
export function openAcmeAuthority(place: AcmePlace & { accountKey: string }): CertificateAuthority {
  return {
    name: place.directory,
    async check() {
      const carry = createAcmeTransport({ ...place, signal: AbortSignal.timeout(checkMsMax) });
      const { data } = await carry(place.directory, 'get');
      if (typeof data !== 'object' || data === null || !('newOrder' in data))
        throw new OrderFailure('authority_error', `${place.directory} is no directory of an ACME server.`);
    },
    async order(order) {
      const signal = AbortSignal.any([order.signal, AbortSignal.timeout(orderMsMax)]);
      const client = await openClient(place, createAcmeTransport({ ...place, signal }));
      /** What goes wrong on our own side is not the authority's fault. */
      let own: { error: unknown } | null = null;
      const publish: CertificateOrder['publish'] = (challenge) =>
        order.publish(challenge).catch((error: unknown) => {
          own = { error };
          throw error;
        });
      try {
        return await orderWith(client, { ...order, publish, signal }, place.email);
      } catch (error) {
        if (error instanceof OrderFailure || own) throw error;
        throw new OrderFailure('authority_error', error instanceof Error ? error.message : String(error));
      }
    },
  };
}

/** Loaded with the first order: most servers never need it. */
const library = async () => (await import('acme-client')).default;

async function openClient(
  place: AcmePlace & { accountKey: string },
  transport: AcmeTransport,
): Promise<Client> {
  const client = new (await library()).Client({
    directoryUrl: place.directory,
    accountKey: place.accountKey,
  });
  // The seam is not in its types; the tests against a real authority tell when it moves.
  (client as unknown as { http: { request: AcmeTransport } }).http.request = transport;
  return client;
}

async function orderWith(
  client: Client,
  { host, publish, signal }: CertificateOrder,
  email: string | undefined,
): Promise<IssuedCertificate> {
  // Answers with the account that the key has, where there is one.
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
  });
  const order = await client.createOrder({ identifiers: [{ type: 'dns', value: host }] });
  for (const authorization of await client.getAuthorizations(order)) {
    // Valid ones are from an order before, and good for this one as well.
    if (authorization.status === 'pending') await answerChallenge(client, authorization, publish);
  }
  await untilReady(client, order, signal);
  const { crypto } = await library();
  const [key, csr] = await crypto.createCsr(
    { altNames: [host] },
    await crypto.createPrivateEcdsaKey('P-256'),
  );
  const finalized = await client.finalizeOrder(order, csr);
  const chain = await client.getCertificate(await untilValid(client, finalized, signal));
  const { validFrom, validTo } = new X509Certificate(chain);
  return { chain, key: key.toString(), notBefore: new Date(validFrom), notAfter: new Date(validTo) };
}

async function answerChallenge(
  client: Client,
  authorization: Authorization,
  publish: CertificateOrder['publish'],
): Promise<void> {
  const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
  if (!challenge) throw new OrderFailure('authority_error', 'The authority does not offer HTTP-01.');
  await publish({ token: challenge.token, text: await client.getChallengeKeyAuthorization(challenge) });
  await client.completeChallenge(challenge);
}

async function untilReady(client: Client, order: Order, signal: AbortSignal): Promise<void> {
  let failures = 0;
  for await (const _ of polls(signal)) {
    const authorizations = await client.getAuthorizations(order);
    if (authorizations.every(({ status }) => status === 'valid')) return;
    for (const { status, challenges } of authorizations) {
      if (status === 'valid') continue;
      const problem = challenges.map(problemOf).find((it) => it !== null);
      if (problem && (status !== 'pending' || ++failures >= failuresMax)) throw failureOfChallenge(problem);
      if (status !== 'pending') throw new OrderFailure('authority_error', `The authorization is ${status}.`);
    }
  }
}

async function untilValid(client: Client, order: Order, signal: AbortSignal): Promise<Order> {
  let now = order;
  for await (const _ of polls(signal)) {
    if (now.status === 'valid') return now;
    if (now.status === 'invalid') throw failureOfProblem(problemOf(now) ?? {});
    now = await client.getOrder(order);
  }
  return now;
}

function problemOf(thing: object): AcmeProblem | null {
  const problem = 'error' in thing ? thing.error : null;
  return typeof problem === 'object' && problem !== null ? problem : null;
}

/** At once, then after growing waits, until the signal ends it. */
async function* polls(signal: AbortSignal): AsyncGenerator<void> {
  for (let wait = pollMsFirst; ; wait = Math.min(wait * 2, pollMsMax)) {
    if (signal.aborted) throw new OrderFailure('authority_error', 'The authority took too long.');
    yield;
    await Bun.sleep(wait);
  }
}

import {
  accessTokenType,
  subjectTokenTypes,
  tokenExchangeGrantType,
} from '@svc/contract/service-accounts.ts';
import type { Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { Failure } from '../../core/problem.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import type { SignInDeps } from '../account/sign-ins.ts';
import {
  type ExchangeDeps,
  ExchangeRefused,
  type ExchangeRequest,
  exchangeToken,
  logRefusal,
} from '../app-identity/exchange-token.ts';
import { getClientAddress, getRequestId } from './web-context.ts';

interface TokenExchangeOptions extends SignInDeps {
  provider: Provider;
  errors: typeof import('oidc-provider')['errors'];
  issuers: ExchangeDeps['issuers'];
  log: Logger;
}

const parameters = [
  'service_account',
  'subject_token',
  'subject_token_type',
  'requested_token_type',
] as const;
type Parameters = Partial<Record<(typeof parameters)[number], string>>;
const perMinuteMax = 120;
const accountCharsMax = 200;

export function registerTokenExchange(options: TokenExchangeOptions): void {
  const { provider, errors, log } = options;
  const now = () => new Date();
  const deps: ExchangeDeps = { ...options, outbox: rowsOnlyOutbox, now };
  const rateLimit = createRateLimit(now);
  const limitedExchange = async (request: ExchangeRequest) => {
    // With the address: others must not use up the exchanges of an account.
    rateLimit(`${request.address} ${request.serviceAccount}`, perMinuteMax);
    return exchangeToken(deps, request);
  };
  const tooManyError = () =>
    Object.assign(
      new errors.CustomOIDCProviderError('slow_down', `at most ${perMinuteMax} exchanges per minute`),
      { status: 429, statusCode: 429 },
    );
  provider.registerGrantType<Parameters>(
    tokenExchangeGrantType,
    async (ctx) => {
      const { service_account, subject_token, subject_token_type, requested_token_type } = ctx.oidc.params;
      if (!service_account || !subject_token)
        throw new errors.InvalidRequest('service_account and subject_token are required');
      if (service_account.length > accountCharsMax)
        throw new errors.InvalidRequest('service_account is an id, or tenant/app/name');
      if (!subjectTokenTypes.some((type) => type === subject_token_type))
        throw new errors.InvalidRequest(`subject_token_type must be one of ${subjectTokenTypes.join(', ')}`);
      if (requested_token_type && requested_token_type !== accessTokenType)
        throw new errors.InvalidRequest(`requested_token_type must be ${accessTokenType}`);
      const request = {
        serviceAccount: service_account,
        subjectToken: subject_token,
        address: getClientAddress(ctx),
        requestId: getRequestId(ctx),
      };
      const token = await limitedExchange(request).catch((error: unknown) => {
        if (error instanceof Failure && error.code === 'rate_limited') throw tooManyError();
        if (!(error instanceof ExchangeRefused)) throw error;
        logRefusal(log, request, error);
        // `InvalidGrant` has no description that the client could see.
        throw new errors.CustomOIDCProviderError(
          'invalid_grant',
          'no trust rule of the service account accepts this subject token',
        );
      });
      ctx.body = {
        access_token: token.secret,
        issued_token_type: accessTokenType,
        token_type: 'Bearer',
        expires_in: token.expiresIn,
        scope: token.actions.join(' '),
      };
    },
    [...parameters],
  );
}

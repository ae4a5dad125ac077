import { siteAuthPath } from './identity.ts';
import { type Json, jsonContent, plain, requestIdHeader, requiredParameter } from './openapi-parts.ts';

const tags = ['sign-in'];
const form = (required: readonly string[]) => ({
  required: true,
  content: {
    'application/x-www-form-urlencoded': {
      schema: {
        type: 'object',
        required,
        properties: Object.fromEntries(required.map((name) => [name, { type: 'string' }])),
      },
    },
  },
});
const query = (names: readonly string[]) => names.map((name) => requiredParameter('query', name));
const json = jsonContent({ type: 'object' });
const page = { 'text/html': { schema: { type: 'string' } } };

/** OAuth errors have their own format: `{error, error_description}`, or a page in browsers. */
const errorResponses = (statuses: readonly number[], content: Json) =>
  Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: 'Refused: `error` says why.', headers: requestIdHeader, content },
    ]),
  );
const successResponse = (description: string, content: Json) => ({
  description,
  headers: requestIdHeader,
  content,
});

const userInfo = (method: string): Json => ({
  operationId: method === 'get' ? 'oauth.userInfo' : 'oauth.userInfoByPost',
  tags,
  summary: 'Get the signed-in user (OpenID Connect Core 5.3), for tokens with the scope `openid`',
  security: [{ login: [] }],
  responses: { 200: successResponse('Their claims.', json), ...errorResponses([400, 401, 403], json) },
});

export const signInPaths: Record<string, Json> = {
  '/oauth/.well-known/openid-configuration': plain(
    'oauth.discovery: Where to sign in, and how',
    'application/json',
  ),
  '/oauth/jwks': plain('oauth.keys: The keys (RFC 7517) that sign id tokens', 'application/jwk-set+json'),
  '/oauth/auth': {
    get: {
      operationId: 'oauth.authorize',
      tags,
      summary: 'Sign in with a browser: authorization code (RFC 6749 4.1) with PKCE (RFC 7636)',
      security: [],
      parameters: query(['client_id', 'response_type', 'redirect_uri', 'scope', 'code_challenge']),
      responses: {
        303: { description: 'Redirect to the sign-in, or back with a code.', headers: requestIdHeader },
        ...errorResponses([400], page),
      },
    },
  },
  '/oauth/token': {
    post: {
      operationId: 'oauth.token',
      tags,
      summary: 'Exchange a code, device code or refresh token for tokens (RFC 6749 3.2, RFC 8628 3.4)',
      security: [],
      requestBody: form(['grant_type', 'client_id']),
      responses: { 200: successResponse('The tokens.', json), ...errorResponses([400, 401], json) },
    },
  },
  '/oauth/device/auth': {
    post: {
      operationId: 'oauth.deviceAuthorize',
      tags,
      summary: 'Start a sign-in on another device (RFC 8628 3.1)',
      security: [],
      requestBody: form(['client_id']),
      responses: {
        200: successResponse('The codes, and where to enter one.', json),
        ...errorResponses([400, 401], json),
      },
    },
  },
  '/oauth/device': plain('oauth.device: Where people enter the code that a device shows', 'text/html'),
  '/oauth/token/revocation': {
    post: {
      operationId: 'oauth.revoke',
      tags,
      summary: 'Revoke a token (RFC 7009)',
      security: [],
      requestBody: form(['token', 'client_id']),
      responses: {
        200: { description: 'The token is revoked.', headers: requestIdHeader },
        ...errorResponses([400, 401], json),
      },
    },
  },
  '/oauth/token/introspection': {
    post: {
      operationId: 'oauth.introspect',
      tags,
      summary: 'Check whether a token of this client is valid, and whose it is (RFC 7662)',
      security: [],
      requestBody: form(['token', 'client_id']),
      responses: {
        200: successResponse('`active`, and for a valid token its claims.', json),
        ...errorResponses([400, 401], json),
      },
    },
  },
  '/oauth/me': { get: userInfo('get'), post: userInfo('post') },
  '/oauth/session/end': plain('oauth.endSession: Ends the session of a browser', 'text/html'),
  '/login': plain('login.start: Signs a browser in, then goes to `return_to`', 'text/html'),
  '/login/done': {
    get: {
      operationId: 'login.done',
      tags,
      summary: 'Where the sign-in comes back to; a state of another browser ends the session',
      security: [],
      parameters: query(['state']),
      responses: {
        303: { description: 'Redirect to the page that asked for the sign-in.', headers: requestIdHeader },
        ...errorResponses([403], page),
      },
    },
  },
  '/logout': {
    post: {
      operationId: 'login.end',
      tags: ['operations'],
      summary: "End the browser's session",
      security: [{ session: [] }],
      responses: { 307: { description: 'Redirect to the page that ends the session.' } },
    },
  },
  [siteAuthPath]: {
    get: {
      operationId: 'login.site',
      tags,
      summary:
        'Where a site sends who is not signed in there; they come back to its `/.svc/auth` with a code',
      security: [],
      parameters: query(['target', 'state']),
      responses: {
        303: { description: 'Redirect to the sign-in, or to the site.', headers: requestIdHeader },
        ...errorResponses([403, 404], page),
      },
    },
  },
};

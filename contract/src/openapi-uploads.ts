import { sourceBytesMax, sourcesPrefix } from './deployments.ts';
import { type Json, problemResponses, requestIdHeader } from './openapi-parts.ts';
import { uploadsPrefix } from './static-sites.ts';
import { objectSumHeader } from './storage.ts';

const sum = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const token = { name: 'token', in: 'path', required: true, schema: { type: 'string' } };
const refusals = [
  ...(['forbidden', 'url_expired', 'unavailable', 'internal', 'request_timeout'] as const),
  ...(['app_not_active', 'digest_mismatch', 'unsupported_media_type'] as const),
] as const;

const source = {
  upload_id: { type: 'string', format: 'uuid' },
  bytes: { type: 'integer' },
  sha256: sum,
};

/** Addresses that were given out: the address itself is the right, while whoever made it has theirs. */
export const uploadPaths: Record<string, Json> = {
  [`${uploadsPrefix}{token}/{sha256}`]: {
    put: {
      tags: ['releases'],
      operationId: 'uploads.put',
      summary: 'Send one file of a draft, by the SHA-256 of its bytes',
      security: [],
      parameters: [token, { name: 'sha256', in: 'path', required: true, schema: sum }],
      requestBody: {
        required: true,
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      },
      responses: {
        200: answer('It was there already.', { sha256: sum, size: { type: 'integer' } }),
        201: answer('Stored.', { sha256: sum, size: { type: 'integer' } }),
        ...problemResponses([...refusals, 'release_not_draft', 'not_in_manifest']),
      },
    },
  },
  [`${sourcesPrefix}{token}`]: {
    put: {
      tags: ['deployments'],
      operationId: 'sources.put',
      summary: 'Send the source of a deployment: a tar archive, compressed with gzip',
      security: [],
      parameters: [
        token,
        {
          name: objectSumHeader,
          in: 'header',
          required: false,
          schema: sum,
          description:
            'SHA-256 of the body; what arrives otherwise is not kept, and what was sent is known again.',
        },
      ],
      requestBody: {
        required: true,
        content: {
          'application/gzip': { schema: { type: 'string', format: 'binary', maxLength: sourceBytesMax } },
        },
      },
      responses: {
        200: answer('The same bytes were sent before.', source),
        201: answer('Stored.', source),
        ...problemResponses([...refusals, 'payload_too_large']),
      },
    },
  },
};

function answer(description: string, properties: Json): Json {
  const schema = { type: 'object', required: Object.keys(properties), properties };
  return { description, headers: requestIdHeader, content: { 'application/json': { schema } } };
}

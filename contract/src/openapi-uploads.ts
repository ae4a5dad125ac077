import { sourceBytesMax, sourcesPrefix } from './deployments.ts';
import {
  binary,
  header,
  type Json,
  jsonContent,
  problemResponses,
  requestIdHeader,
  requiredParameter,
} from './openapi-parts.ts';
import { uploadsPrefix } from './static-sites.ts';
import { objectSumHeader } from './storage.ts';

const sum = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const token = requiredParameter('path', 'token');
const refusals = [
  'forbidden',
  'url_expired',
  'unavailable',
  'internal',
  'request_timeout',
  'app_not_active',
  'digest_mismatch',
  'unsupported_media_type',
] as const;

const source = {
  upload_id: { type: 'string', format: 'uuid' },
  bytes: { type: 'integer' },
  sha256: sum,
};

/** The signed URL is the credential, as long as its issuer keeps the right. */
export const uploadPaths: Record<string, Json> = {
  [`${uploadsPrefix}{token}/{sha256}`]: {
    put: {
      tags: ['releases'],
      operationId: 'uploads.put',
      summary: 'Upload a file of a draft release, named by its SHA-256',
      security: [],
      parameters: [token, requiredParameter('path', 'sha256', sum)],
      requestBody: { required: true, content: { '*/*': { schema: binary } } },
      responses: {
        200: answer('Already stored.', { sha256: sum, size: { type: 'integer' } }),
        201: answer('Stored.', { sha256: sum, size: { type: 'integer' } }),
        ...problemResponses([...refusals, 'release_not_draft', 'not_in_manifest']),
      },
    },
  },
  [`${sourcesPrefix}{token}`]: {
    put: {
      tags: ['deployments'],
      operationId: 'sources.put',
      summary: 'Upload the source of a deployment (a gzip-compressed tar archive)',
      security: [],
      parameters: [
        token,
        header(
          objectSumHeader,
          'SHA-256 of the body; a body with another digest is discarded, and a body that was sent before is recognized.',
          sum,
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/gzip': { schema: { ...binary, maxLength: sourceBytesMax } } },
      },
      responses: {
        200: answer('The same bytes were uploaded before.', source),
        201: answer('Stored.', source),
        ...problemResponses([...refusals, 'payload_too_large']),
      },
    },
  },
};

function answer(description: string, properties: Json): Json {
  const schema = { type: 'object', required: Object.keys(properties), properties };
  return { description, headers: requestIdHeader, content: jsonContent(schema) };
}

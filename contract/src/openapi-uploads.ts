import { type Json, problemResponses, requestIdHeader } from './openapi-parts.ts';
import { uploadsPrefix } from './static-sites.ts';

/** The address of a draft with a sum behind it: the address itself is the right, while whoever made it has theirs. */
export const uploadPaths: Record<string, Json> = {
  [`${uploadsPrefix}{token}/{sha256}`]: {
    put: {
      tags: ['releases'],
      operationId: 'uploads.put',
      summary: 'Send one file of a draft, by the SHA-256 of its bytes',
      security: [],
      parameters: [
        { name: 'token', in: 'path', required: true, schema: { type: 'string' } },
        {
          name: 'sha256',
          in: 'path',
          required: true,
          schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
        },
      ],
      requestBody: {
        required: true,
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      },
      responses: {
        200: { description: 'It was there already.', headers: requestIdHeader },
        201: { description: 'Stored.', headers: requestIdHeader },
        ...problemResponses([
          ...(['forbidden', 'url_expired', 'unavailable', 'internal', 'request_timeout'] as const),
          ...(['app_not_active', 'release_not_draft', 'not_in_manifest', 'digest_mismatch'] as const),
          'unsupported_media_type',
        ]),
      },
    },
  },
};

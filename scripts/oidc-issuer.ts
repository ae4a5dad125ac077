import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export type OidcIssuer = Awaited<ReturnType<typeof startOidcIssuer>>;
type Algorithm = 'RS256' | 'ES256';

/** An OpenID issuer on this machine, like that of a CI service: discovery, keys and signed tokens. */
export async function startOidcIssuer(path = '') {
  const newKey = async (alg: Algorithm) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = Bun.randomUUIDv7();
    return {
      alg,
      kid,
      privateKey,
      publicKey,
      jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    };
  };
  let keys = [await newKey('RS256'), await newKey('ES256')];
  const requests: string[] = [];
  /** Replaces the answers of a path. */
  const answers = new Map<string, () => Response>();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request): Response {
      const { pathname } = new URL(request.url);
      requests.push(pathname);
      const other = answers.get(pathname);
      if (other) return other();
      if (pathname === `${path}/.well-known/openid-configuration`)
        return Response.json({ issuer, jwks_uri: `${issuer}/jwks` });
      if (pathname === `${path}/jwks`) return Response.json({ keys: keys.map(({ jwk }) => jwk) });
      return new Response(null, { status: 404 });
    },
  });
  const issuer: string = `http://127.0.0.1:${server.port}${path}`;
  return {
    issuer,
    requests,
    answers,
    keys: () => keys,
    async replaceKeys() {
      keys = [await newKey('RS256'), await newKey('ES256')];
    },
    /** A token for ten minutes, unless the claims say otherwise. */
    sign(claims: JWTPayload, { alg = 'RS256', key }: { alg?: Algorithm; key?: (typeof keys)[number] } = {}) {
      const signer = key ?? keys.find((it) => it.alg === alg);
      if (!signer) throw new Error(`The issuer has no key for ${alg}.`);
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({ iss: issuer, iat: now, exp: now + 600, ...claims })
        .setProtectedHeader({ alg: signer.alg, kid: signer.kid })
        .sign(signer.privateKey);
    },
    stop: () => server.stop(true),
  };
}

/** As GitHub Actions has them in a job for a push. */
export function githubClaims(repository: string, branch: string, audience: string): JWTPayload {
  const [owner] = repository.split('/');
  return {
    sub: `repo:${repository}:ref:refs/heads/${branch}`,
    aud: audience,
    repository,
    repository_owner: owner,
    repository_id: '123456',
    ref: `refs/heads/${branch}`,
    ref_type: 'branch',
    event_name: 'push',
    workflow: 'Deploy',
    job_workflow_ref: `${repository}/.github/workflows/deploy.yml@refs/heads/${branch}`,
    run_id: '4242',
  };
}

/** As GitLab has them in `id_tokens` of a job. */
export function gitlabClaims(project: string, branch: string, audience: string): JWTPayload {
  return {
    sub: `project_path:${project}:ref_type:branch:ref:${branch}`,
    aud: audience,
    project_path: project,
    namespace_path: project.split('/').slice(0, -1).join('/'),
    project_id: '22',
    ref: branch,
    ref_type: 'branch',
    ref_protected: 'true',
    pipeline_source: 'push',
    job_id: '4242',
  };
}

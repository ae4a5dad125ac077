import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export type OidcIssuer = Awaited<ReturnType<typeof startOidcIssuer>>;
type Algorithm = 'RS256' | 'ES256';

/** Where the keys are, and what else the document of discovery has. */
const services = {
  plain: { jwksPath: '/jwks', more: {} },
  github: {
    jwksPath: '/.well-known/jwks',
    more: {
      subject_types_supported: ['public', 'pairwise'],
      response_types_supported: ['id_token'],
      claims_supported: ['sub', 'aud', 'exp', 'iat', 'iss', 'jti', 'nbf', 'ref', 'repository', 'environment'],
      id_token_signing_alg_values_supported: ['RS256'],
      scopes_supported: ['openid'],
    },
  },
  gitlab: {
    jwksPath: '/oauth/discovery/keys',
    more: {
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
};

/** An OpenID issuer on this machine, like that of a CI service: discovery, keys and signed tokens. */
export async function startOidcIssuer(path = '', like: keyof typeof services = 'plain') {
  const { jwksPath, more } = services[like];
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
        return Response.json({ issuer, jwks_uri: `${issuer}${jwksPath}`, ...more });
      if (pathname === path + jwksPath) return Response.json({ keys: keys.map(({ jwk }) => jwk) });
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
        .setProtectedHeader({ typ: 'JWT', alg: signer.alg, kid: signer.kid })
        .sign(signer.privateKey);
    },
    stop: () => server.stop(true),
  };
}

/**
 * As GitHub Actions has them in a job for a push. A job with an environment, for a pull request or for a tag differs in these
 * (docs.github.com, “OpenID Connect reference”).
 */
export function githubClaims(
  repository: string,
  branch: string,
  audience: string,
  job: { environment?: string; pullRequest?: number; tag?: string } = {},
): JWTPayload {
  const [owner] = repository.split('/');
  const { environment, pullRequest, tag } = job;
  const pushed = tag === undefined ? `refs/heads/${branch}` : `refs/tags/${tag}`;
  const ref = pullRequest === undefined ? pushed : `refs/pull/${pullRequest}/merge`;
  const context = pullRequest === undefined ? `ref:${ref}` : 'pull_request';
  return {
    jti: crypto.randomUUID(),
    nbf: Math.floor(Date.now() / 1000) - 600,
    sub: `repo:${repository}:${environment === undefined ? context : `environment:${environment}`}`,
    aud: audience,
    ref,
    sha: 'c'.repeat(40),
    repository,
    repository_owner: owner,
    repository_owner_id: '65',
    repository_id: '123456',
    repository_visibility: 'private',
    run_id: '4242',
    run_number: '10',
    run_attempt: '2',
    actor: 'octocat',
    actor_id: '12',
    workflow: 'Deploy',
    workflow_ref: `${repository}/.github/workflows/deploy.yml@${ref}`,
    head_ref: pullRequest === undefined ? '' : branch,
    base_ref: pullRequest === undefined ? '' : 'main',
    event_name: pullRequest === undefined ? 'push' : 'pull_request',
    ref_type: tag === undefined ? 'branch' : 'tag',
    ref_protected: 'true',
    job_workflow_ref: `${repository}/.github/workflows/deploy.yml@${ref}`,
    runner_environment: 'github-hosted',
    ...(environment === undefined ? {} : { environment }),
  };
}

/** As GitLab has them in `id_tokens` of a job (docs.gitlab.com, “OpenID Connect (OIDC) Authentication Using ID Tokens”). */
export function gitlabClaims(
  project: string,
  ref: string,
  audience: string,
  { isTag = false, environment }: { isTag?: boolean; environment?: string } = {},
): JWTPayload {
  const type = isTag ? 'tag' : 'branch';
  return {
    jti: crypto.randomUUID(),
    nbf: Math.floor(Date.now() / 1000) - 5,
    sub: `project_path:${project}:ref_type:${type}:ref:${ref}`,
    aud: audience,
    namespace_id: '72',
    namespace_path: project.split('/').slice(0, -1).join('/'),
    project_id: '22',
    project_path: project,
    project_visibility: 'private',
    user_id: '1',
    user_login: 'sample-user',
    user_email: 'sample-user@example.com',
    pipeline_id: '574',
    pipeline_source: 'push',
    job_id: '302',
    ref,
    ref_type: type,
    ref_path: `refs/${isTag ? 'tags' : 'heads'}/${ref}`,
    ref_protected: 'true',
    runner_id: 1,
    runner_environment: 'gitlab-hosted',
    sha: 'c'.repeat(40),
    ci_config_ref_uri: `gitlab.com/${project}//.gitlab-ci.yml@refs/heads/main`,
    ...(environment === undefined ? {} : { environment, environment_protected: 'true' }),
  };
}

import type { User } from './sign-in.js';
export declare class SignInError extends Error {
    readonly code: string;
    constructor(code: string, detail: string);
}
export interface Tokens {
    accessToken: string;
    refreshToken: string;
    expiresAt: number;
}
export declare function createProvider(options: {
    baseUrl: string;
    appId: string;
    fetch: (url: string, init: RequestInit) => Promise<Response>;
    timeoutMs?: number | undefined;
}): {
    issuer: string;
    signInUrl(request: {
        state: string;
        nonce: string;
        challenge: string;
        redirectUri: string;
        loginHint?: string | undefined;
    }): string;
    /**
     * The ID token comes directly from the platform over TLS, so its signature needs no check (OpenID Connect Core
     * §3.1.3.7).
     */
    redeem(request: {
        code: string;
        verifier: string;
        redirectUri: string;
        nonce: string;
    }): Promise<{
        tokens: Tokens;
        subject: string;
    }>;
    renew(refreshToken: string): Promise<Tokens>;
    revoke(refreshToken: string): Promise<void>;
    userOf(accessToken: string): Promise<User>;
};

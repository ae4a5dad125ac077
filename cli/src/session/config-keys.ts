export const configKeys = ['profile', 'base-url', 'tenant', 'output'] as const;

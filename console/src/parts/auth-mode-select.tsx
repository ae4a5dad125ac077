import { Select } from '@mantine/core';
import { authModes } from '@svc/contract/apps.ts';

export type AuthMode = (typeof authModes)[number];

const texts: Readonly<Record<AuthMode, string>> = {
  cookie: 'Cookie: people sign in with the browser',
  bearer: 'Bearer token: programs sign in as people',
  api_key: 'API key: programs with a key',
  anonymous: 'Anonymous: it does not ask',
};

export function AuthModeSelect({
  value,
  onChange,
  error,
  disabled = false,
}: {
  value: AuthMode;
  onChange: (mode: AuthMode) => void;
  error?: string | undefined;
  disabled?: boolean;
}) {
  return (
    <Select
      label="Sign-in"
      description="How the app itself knows who calls it."
      data={authModes.map((mode) => ({ value: mode, label: texts[mode] }))}
      value={value}
      onChange={(next) => onChange(authModes.find((mode) => mode === next) ?? value)}
      allowDeselect={false}
      error={error}
      disabled={disabled}
    />
  );
}

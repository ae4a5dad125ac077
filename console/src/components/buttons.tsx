import {
  ActionIcon,
  Button,
  type ButtonProps,
  CopyButton,
  Group,
  Text,
  Tooltip,
  VisuallyHidden,
} from '@mantine/core';
import { IconCheck, IconCopy, IconPlus } from '@tabler/icons-react';
import { type ComponentProps, type ComponentType, useId } from 'react';
import { Link } from 'wouter';

type BusyButtonProps = ButtonProps & Omit<ComponentProps<'button'>, keyof ButtonProps>;

/** Ignores clicks while loading but keeps the focus, which a disabled button would lose. */
export function BusyButton({ loading = false, onClick, ...rest }: BusyButtonProps) {
  return (
    <Button
      {...rest}
      loading={loading}
      onClick={(event) => {
        if (loading) event.preventDefault();
        else onClick?.(event);
      }}
      renderRoot={(props: ComponentProps<'button'>) =>
        loading ? <button {...props} disabled={false} aria-disabled aria-busy /> : <button {...props} />
      }
    />
  );
}

/**
 * A disabled button stays focusable and the same element, so that its reason is readable and focus survives a
 * change.
 */
export function ActionButton({
  why = null,
  icon: Icon,
  variant = 'default',
  onClick,
  ...rest
}: Omit<BusyButtonProps, 'onClick' | 'leftSection'> & {
  why?: string | null;
  icon?: ComponentType<{ size: number; 'aria-hidden': boolean }>;
  onClick: () => void;
}) {
  const id = useId();
  const isOpen = why === null;
  return (
    <>
      <Tooltip
        label={why ?? ''}
        disabled={isOpen}
        aria-hidden
        multiline
        maw={320}
        events={{ hover: true, focus: true, touch: true }}
      >
        <BusyButton
          {...rest}
          variant={variant}
          leftSection={Icon && <Icon size={rest.size === 'compact-sm' ? 14 : 16} aria-hidden />}
          {...(!isOpen && { 'data-disabled': true, 'aria-disabled': true, 'aria-describedby': id })}
          onClick={(event) => {
            if (isOpen) onClick();
            else event.preventDefault();
          }}
        />
      </Tooltip>
      {!isOpen && (
        <span id={id} hidden>
          {why}
        </span>
      )}
    </>
  );
}

export function ChangeButton<I>({
  change,
  input,
  ...rest
}: Omit<ComponentProps<typeof ActionButton>, 'onClick' | 'loading'> & {
  change: { isBusy: boolean; propose(input: I): Promise<boolean> };
  input: I;
}) {
  return <ActionButton {...rest} loading={change.isBusy} onClick={() => void change.propose(input)} />;
}

export function RowButton({
  verb,
  name,
  why = null,
  color,
  onClick,
}: {
  verb: string;
  name: string;
  why?: string | null;
  color?: string;
  onClick: () => void;
}) {
  return (
    <ActionButton why={why} size="compact-sm" fw={500} c={why === null ? color : undefined} onClick={onClick}>
      {verb}
      <VisuallyHidden> {name}</VisuallyHidden>
    </ActionButton>
  );
}

export function NewButton({ to, label }: { to: string; label: string }) {
  return (
    <Button component={Link} href={to} leftSection={<IconPlus size={16} aria-hidden />}>
      {label}
    </Button>
  );
}

export function CopyIconButton({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={`Copy ${label}`}>
            {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

export function CopyText({
  value,
  label,
  size = 'sm',
}: {
  value: string;
  label: string;
  size?: 'xs' | 'sm';
}) {
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <Text span size={size} className="mono" miw={0} style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
      <CopyIconButton value={value} label={label} />
    </Group>
  );
}

import { Checkbox, Stack, TextInput } from '@mantine/core';
import { updateColumn } from '@svc/contract/tables.ts';
import { useState } from 'react';
import { useChange } from '../../../../change/use-change.ts';
import { PreviewBar } from '../../../../parts/preview-bar.tsx';
import { defaultFault, defaultFunctions, nameFault } from '../column-draft.ts';
import { Dialog } from '../dialog.tsx';
import { type ColumnView, useTable } from '../use-table.ts';

/** Name, null and default of a column. Its type is for good. */
export function ColumnDialog({ column, onClose }: { column: ColumnView; onClose: () => void }) {
  const { table, params } = useTable();
  const isId = column.name === 'id';
  const isKept = column.generated || isId;
  const [name, setName] = useState(column.name);
  const [nullable, setNullable] = useState(column.nullable);
  const [hasDefault, setHasDefault] = useState(column.default !== null);
  const [text, setText] = useState(column.default ?? '');
  const change = useChange(updateColumn, {
    title: `Change column ${column.name}`,
    verb: 'Change column',
    done: `The column ${name} is changed.`,
    onDone: onClose,
  });
  const isTaken = name !== column.name && table.columns.some((other) => other.name === name);
  const nameWrong = isTaken ? `there is a column ${name} already` : nameFault(name);
  const wrong = hasDefault ? defaultFault({ name, type: column.type, default: text }) : undefined;
  const wanted = hasDefault ? text : null;
  const body = {
    ...(name === column.name ? {} : { name }),
    ...(nullable === column.nullable ? {} : { nullable }),
    ...(wanted === column.default ? {} : { default: wanted }),
  };
  const isSame = Object.keys(body).length === 0;
  return (
    <Dialog onClose={onClose} title={`Column ${column.name}`}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isSame && !nameWrong && !wrong) {
            void change.propose({ params: { ...params, column: column.name }, body });
          }
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={nameWrong ?? change.errorOf('name')}
            disabled={isId}
            description={
              isId
                ? 'The id keeps its name.'
                : 'Programs that use the old name are answered with unknown_column from then on.'
            }
            autoComplete="off"
            spellCheck={false}
          />
          <TextInput
            label="Type"
            value={column.type}
            disabled
            description="The type stays. To have another, add a column, fill it and drop this one."
          />
          <Checkbox
            label="May be null"
            checked={nullable}
            onChange={(event) => setNullable(event.currentTarget.checked)}
            disabled={isKept}
            description={isKept ? `${column.name} always has a value.` : undefined}
          />
          <Checkbox
            label="Has a default"
            checked={hasDefault}
            onChange={(event) => {
              setHasDefault(event.currentTarget.checked);
              if (text === '') setText(defaultFunctions[column.type] ?? '');
            }}
            disabled={isKept}
            description={isKept ? `The service fills ${column.name} in.` : undefined}
          />
          {hasDefault && (
            <TextInput
              label="Default"
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={wrong ?? change.errorOf('default')}
              description="For rows to come; those that are there stay as they are."
              disabled={isKept}
              autoComplete="off"
            />
          )}
          <PreviewBar change={change} why={isSame ? 'Nothing is changed yet.' : null} onCancel={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}

export interface CellPosition {
  row: number;
  column: number;
}

const pageRows = 10;

export function moveFocus(
  event: { key: string; ctrlKey: boolean; metaKey: boolean },
  { row, column }: CellPosition,
  last: CellPosition,
): CellPosition | null {
  const isFar = event.ctrlKey || event.metaKey;
  const to = (nextRow: number, nextColumn: number): CellPosition => ({
    row: Math.max(0, Math.min(last.row, nextRow)),
    column: Math.max(0, Math.min(last.column, nextColumn)),
  });
  switch (event.key) {
    case 'ArrowUp':
      return to(row - 1, column);
    case 'ArrowDown':
      return to(row + 1, column);
    case 'ArrowLeft':
      return to(row, column - 1);
    case 'ArrowRight':
      return to(row, column + 1);
    case 'PageUp':
      return to(row - pageRows, column);
    case 'PageDown':
      return to(row + pageRows, column);
    case 'Home':
      return to(isFar ? 0 : row, 0);
    case 'End':
      return to(isFar ? last.row : row, last.column);
    default:
      return null;
  }
}

import { describe, expect, it } from 'vitest';
import { plainMarkdown } from '../../../../../services/console/cli/markdown.ts';

const style = { heading: (text: string) => `<${text}>`, widthMax: 40 };

describe('Markdown as plain text', () => {
  it('shows headings without marks and wraps paragraphs', () => {
    const text = plainMarkdown(`# Title\n\n${'word '.repeat(12)}\n`, style);
    const [title, , ...lines] = text.trimEnd().split('\n');
    expect(title).toBe('<Title>');
    expect(lines.every((line) => line.length <= 40)).toBe(true);
  });

  it('aligns tables, numbers to the right', () => {
    const text = plainMarkdown(
      '| name | copies |\n| --- | --- |\n| a | 12 |\n| bcd | 3 |\n',
      style,
    );
    expect(text).toBe('  name  copies\n  a         12\n  bcd        3\n');
  });

  it('keeps escaped bars inside a cell', () => {
    const text = plainMarkdown('| name |\n| --- |\n| a \\| b |\nafter', style);
    expect(text).toBe('  name\n  a | b\nafter\n');
  });

  it('takes emphasis and code marks away, not underscores', () => {
    expect(plainMarkdown('**bold** `code` snake_case_name', style)).toBe(
      'bold code snake_case_name\n',
    );
  });

  it('leaves a line with bars that is no table', () => {
    expect(plainMarkdown('| not a table', style)).toBe('| not a table\n');
  });
});

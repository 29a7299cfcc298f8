/**
 * The engine's own configuration file. Left alone, it would take nine tenths of the machine's
 * memory and gigabytes of caches; here it shares a laptop with everything else.
 */
export function engineFile(options: { memoryBytesMax: number; rolesPath: string }): string {
  const entries: readonly (readonly [string, number])[] = [
    ['max_server_memory_usage', options.memoryBytesMax],
    ['mark_cache_size', 64 * 1024 * 1024],
    ['index_mark_cache_size', 16 * 1024 * 1024],
    ['uncompressed_cache_size', 0],
    ['mmap_cache_size', 16],
    ['compiled_expression_cache_size', 16 * 1024 * 1024],
    ['background_pool_size', 2],
    ['background_schedule_pool_size', 4],
    ['background_common_pool_size', 2],
    ['background_fetches_pool_size', 1],
    ['background_move_pool_size', 1],
  ];
  const lines = entries.map(([name, value]) => `  <${name}>${value}</${name}>`);
  lines.push(`  <users_config>${escaped(options.rolesPath)}</users_config>`);
  return `<clickhouse>\n${lines.join('\n')}\n</clickhouse>\n`;
}

const escaped = (path: string): string =>
  path.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Settings that every statement starts with; a request may change them for itself. `async_insert`
 * is off so that one insert is one block, written when the answer comes. Files are read by the thread that needs them: handing
 * each column's piece to another one costs more than it saves where the disk is local and answers are small. A statement takes
 * another processor for each 256 MiB that are free: by itself the engine asks for a gibibyte each, and had one under this ceiling.
 */
export function statementSettings(options: {
  memoryBytesMax: number;
  executionSecondsMax: number;
}): Readonly<Record<string, string>> {
  const query = Math.floor(options.memoryBytesMax * 0.7);
  const spill = String(Math.floor(query / 2));
  return {
    async_insert: '0',
    local_filesystem_read_method: 'pread',
    max_threads_min_free_memory_per_thread: String(256 * 1024 * 1024),
    max_execution_time: String(options.executionSecondsMax),
    max_memory_usage: String(query),
    max_bytes_before_external_group_by: spill,
    max_bytes_before_external_sort: spill,
  };
}

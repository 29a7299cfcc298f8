import type { Content } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { EventRecord } from '../../services/chassis/protocol/event-record.ts';
import type { InputBody, RecordBody, TurnBody } from '../../services/chassis/protocol/record.ts';
import { type Masks, maskOf, textMask } from '../../services/chassis/telemetry/masks.ts';
import type { SessionSource, SourceRecord } from './source.ts';

/**
 * A session as people look at it: personal data in what was written is masked, all else stays, ids and digests too. For
 * looking only: what is decided or checked is read without masks.
 */

/** What operators wrote in the catalog, and machines fold. */
const notPersonal: ReadonlySet<string> = new Set(['catalog', 'plan']);
/** Members of the structure that can hold what a person wrote, or who that is. */
const personal = ['changes', 'requestedBy', 'principal', 'person'] as const;

export class ViewMask {
  /** So many contents were not shown as they are. */
  masked = 0;
  private readonly text: (text: string) => string;
  private readonly fields: ReadonlySet<string>;

  constructor(masks: Masks) {
    this.text = textMask(masks);
    this.fields = new Set(masks.fields);
  }

  /** The value with masks; the same object where none was needed. */
  value<T extends JsonValue | undefined>(value: T): T {
    return this.of(value) as T;
  }

  private of(value: JsonValue | undefined): JsonValue | undefined {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const list = value.map((one) => this.of(one) ?? null);
      return list.every((one, at) => one === value[at]) ? value : list;
    }
    const members = Object.entries(value as JsonObject).map(([name, one]) => {
      const isField = this.fields.has(name.toLowerCase()) && one !== null;
      return [name, isField ? maskOf(name) : this.of(one)] as const;
    });
    const same = members.every(([name, one]) => one === (value as JsonObject)[name]);
    return same ? value : (Object.fromEntries(members) as JsonObject);
  }

  private content(name: string, content: Content): Content {
    if (content.body === undefined || notPersonal.has(name)) return content;
    const body = this.of(content.body) ?? null;
    if (body === content.body) return content;
    this.masked += 1;
    return { ...content, body };
  }

  private event(event: EventRecord): EventRecord {
    const shown = personal.flatMap((name) => {
      const value = event.data[name];
      return value === undefined ? [] : [[name, this.of(value) ?? null] as const];
    });
    const data = shown.length === 0 ? event.data : { ...event.data, ...Object.fromEntries(shown) };
    if (event.content === undefined) return { ...event, data };
    const contents = Object.entries(event.content).map(
      ([name, one]) => [name, this.content(name, one)] as const,
    );
    return { ...event, data, content: Object.fromEntries(contents) };
  }

  private owner<T extends TurnBody | InputBody>(body: T): T {
    const labels = Object.entries(body.labels).map(([name, value]) => [name, this.text(value)]);
    return {
      ...body,
      principal: this.text(body.principal),
      labels: Object.fromEntries(labels) as T['labels'],
    };
  }

  private body(body: RecordBody): RecordBody {
    if (body.kind === 'turn')
      return { ...this.owner(body), events: body.events.map((one) => this.event(one)) };
    if (body.kind !== 'input') return body;
    const own = { ...this.owner(body), event: this.event(body.event) };
    const { past } = body;
    return past === undefined
      ? own
      : { ...own, past: past.map((one) => ({ ...one, body: this.body(one.body) })) };
  }

  private async *records(records: AsyncIterable<SourceRecord>): AsyncGenerator<SourceRecord> {
    for await (const one of records)
      yield one.body === undefined ? one : { ...one, body: this.body(one.body) };
  }

  /** The session, masked. */
  source(source: SessionSource): SessionSource {
    const { later } = source;
    return {
      ...source,
      records: () => this.records(source.records()),
      ...(later === undefined ? {} : { later: () => this.records(later()) }),
    };
  }
}

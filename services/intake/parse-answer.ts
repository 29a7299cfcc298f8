import { Ajv2020 } from 'ajv/dist/2020.js';
import { publicSchemas } from '../../schemas/generated/schemas.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import { toError } from '../chassis/errors.ts';
import { type Codec, isFramed } from '../chassis/log/codec.ts';
import type { LogRecord } from '../chassis/log/port.ts';
import { releaseSchemas } from '../chassis/protocol/release-schemas.ts';

/** What a person answered, as in schemas/public/approval-decision.v1.json. */
export type PublicAnswer = Readonly<{
  session: string;
  approval: string;
  decision: 'granted' | 'denied' | 'answered';
  decidedBy: string;
  answer?: JsonValue;
  reason?: string;
}>;

/** A record of the approvals topic as intake understands it; `request`: what services write there for others. */
export type ParsedAnswer =
  | Readonly<{ kind: 'answer'; answer: PublicAnswer }>
  | Readonly<{ kind: 'request' }>
  | Readonly<{ kind: 'problem'; reason: Readonly<{ code: string; message: string; fix: string }> }>;

const named = publicSchemas.find(({ $id }) => $id === 'urn:longrein:public:approval-decision:v1');
const ajv = new Ajv2020({ ...releaseSchemas, strict: true });
const isAnswer = ajv.compile<PublicAnswer>(named as object);

const fix = 'Send what schemas/public/approval-decision.v1.json says, as JSON in UTF-8.';

const problem = (code: string, message: string): ParsedAnswer => ({
  kind: 'problem',
  reason: { code, message, fix },
});

function bodyOf(value: Uint8Array, codec: Codec): unknown {
  if (isFramed(value)) return codec.decode(value).body;
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value));
}

function checked(body: unknown): ParsedAnswer {
  if (!isAnswer(body)) {
    const [first] = isAnswer.errors ?? [];
    const place = `${first?.instancePath ?? ''} ${first?.message ?? 'is not valid'}`.trim();
    return problem('ANSWER_INVALID', `the answer is not valid: ${place}`);
  }
  if (body.decision === 'answered' && body.answer === undefined)
    return problem('ANSWER_INVALID', 'the decision is "answered", but there is no answer');
  if (!/^[^/]+(\/[^/]+)?$/.test(body.approval))
    return problem('ANSWER_INVALID', `"${body.approval}" is not the id of an approval`);
  return { kind: 'answer', answer: body };
}

/** Reads one record of the approvals topic; never throws for bad bytes. */
export function parseAnswer(record: LogRecord, codec: Codec): ParsedAnswer {
  const { value, headers } = record;
  if ((headers['ce_type'] ?? '').startsWith('longrein.approval-request.'))
    return { kind: 'request' };
  if (value === null || value.length === 0)
    return problem('ANSWER_EMPTY', 'the record has no value');
  if (value.length > limits.goalBytesMax)
    return problem('ANSWER_TOO_LARGE', `an answer has at most ${limits.goalBytesMax} bytes`);
  try {
    return checked(bodyOf(value, codec));
  } catch (thrown) {
    return problem('ANSWER_NOT_JSON', `the answer is not JSON: ${toError(thrown).message}`);
  }
}

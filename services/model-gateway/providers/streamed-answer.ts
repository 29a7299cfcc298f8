import type { LanguageModelUsage } from 'ai';
import { asLanguageModelUsage } from 'ai/internal';
import { distinctIds, type StreamPart } from './call-ids.ts';

type Metadata = Extract<StreamPart, { type: 'reasoning-end' }>['providerMetadata'];
type Finish = Extract<StreamPart, { type: 'finish' }>;
type Call = Extract<StreamPart, { type: 'tool-call' }>;

export type AnsweredCall = Readonly<{
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerMetadata?: Metadata;
}>;

/** An answer of the SDK, however it came. */
export type SdkAnswer = Readonly<{
  text: string;
  reasoning: readonly Readonly<{ text: string; providerMetadata?: Metadata }>[];
  toolCalls: readonly AnsweredCall[];
  finishReason: Finish['finishReason']['unified'];
  usage: LanguageModelUsage;
  response: Readonly<{ modelId: string }>;
}>;

/** A member of this name would become another object's prototype. */
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new SyntaxError('a member of this name is no data');
  return value;
}

/** Arguments as JSON, or as the model wrote them where they are none: it is told so. */
function inputOf({ input }: Call): unknown {
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input, refusePrototype);
  } catch {
    return input;
  }
}

/** Puts the parts of a stream together. */
export class StreamedAnswer {
  private text = '';
  private modelId: string;
  private readonly reasoning = new Map<string, { text: string; providerMetadata: Metadata }>();
  private readonly calls: AnsweredCall[] = [];
  private readonly distinct = distinctIds();
  private finish: Finish | undefined;

  /** `modelId`: the model that was asked; the answer may name another one. */
  constructor(modelId: string) {
    this.modelId = modelId;
  }

  take(part: StreamPart): void {
    switch (part.type) {
      case 'text-delta':
        this.text += part.delta;
        return;
      case 'reasoning-start':
      case 'reasoning-end':
        this.reason(part.id, '', part.providerMetadata);
        return;
      case 'reasoning-delta':
        this.reason(part.id, part.delta, part.providerMetadata);
        return;
      case 'tool-call':
        this.call(part);
        return;
      case 'response-metadata':
        this.modelId = part.modelId ?? this.modelId;
        return;
      case 'finish':
        this.finish = part;
        return;
      default:
    }
  }

  /** The whole answer; undefined where the provider never said why it ended. */
  whole(): SdkAnswer | undefined {
    const { finish, text, modelId } = this;
    if (finish?.finishReason.raw === undefined) return undefined;
    return {
      text,
      reasoning: [...this.reasoning.values()],
      toolCalls: this.calls,
      finishReason: finish.finishReason.unified,
      usage: asLanguageModelUsage(finish.usage),
      response: { modelId },
    };
  }

  private reason(id: string, more: string, metadata: Metadata): void {
    const known = this.reasoning.get(id);
    const providerMetadata = metadata ?? known?.providerMetadata;
    this.reasoning.set(id, { text: (known?.text ?? '') + more, providerMetadata });
  }

  private call(part: Call): void {
    const { toolCallId, toolName, providerMetadata } = this.distinct(part);
    const named = { toolCallId, toolName, input: inputOf(part) };
    this.calls.push(providerMetadata === undefined ? named : { ...named, providerMetadata });
  }
}

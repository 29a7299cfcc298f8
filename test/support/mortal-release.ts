import type { BuiltService, ServiceFactory } from '../../services/chassis/host/service-context.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';

export type DiesOf = Readonly<{ service: string; session: string }>;

/** A service whose process ends here and now when it decides something in this session: as by a bug in native code. */
function mortalService(built: BuiltService, { service, session }: DiesOf): BuiltService {
  const { hosted } = built;
  const { logic } = hosted;
  if (logic.name !== service) return built;
  const decide: AnyLogic['decide'] = (state, input) => {
    if (input.session.session === session && input.causes.length > 0)
      process.kill(process.pid, 'SIGKILL');
    return logic.decide(state, input);
  };
  const mortal = { logic: { ...logic, decide } };
  return { ...built, hosted: Object.assign(Object.create(hosted) as typeof hosted, mortal) };
}

export const mortalFactories = (
  factories: readonly ServiceFactory[],
  dies: DiesOf,
): readonly ServiceFactory[] =>
  factories.map((factory) => async (context) => mortalService(await factory(context), dies));

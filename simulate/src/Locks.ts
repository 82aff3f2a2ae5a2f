/**
 * The membership and the locks of runners, as PostgreSQL holds them: a lock is of a session, and ends with it.
 *
 * It stands where `SqlRunnerStorage` stands with advisory locks. A session ends at once with its process, and when it was idle for
 * `Lease.EXPIRATION_MS`, as `idle_session_timeout` has it; a runner learns of that by its next query.
 */
import { Effect, Hash, PrimaryKey } from "effect"
import { ClusterError, MachineId, type Runner, RunnerStorage, ShardId } from "effect/cluster"
import * as Lease from "../../apps/session-orchestrator/src/cluster/Lease.ts"
import type * as Chance from "./Chance.ts"
import type { Process, World } from "./World.ts"

interface Row {
  readonly runner: Runner.Runner
  readonly machine: number
  isHealthy: boolean
  beatAt: number
}

/** The session of a process that holds its locks. */
interface Session {
  readonly owner: Process
  usedAt: number
}

export class Locks {
  /** Queries, by kind. */
  readonly queries = new Map<string, number>()
  private readonly world: World
  private readonly chance: Chance.Chance
  private readonly runners = new Map<string, Row>()
  private readonly sessions = new Map<Process, Session>()
  private readonly holders = new Map<ShardId.ShardId, Session>()
  /** When the database has last confirmed a shard to each process. */
  private readonly confirmed = new Map<Process, Map<ShardId.ShardId, number>>()
  private readonly shards: number
  private listed: { readonly until: number; readonly runners: Array<readonly [Runner.Runner, boolean]> } | undefined

  constructor(world: World, chance: Chance.Chance, shards: number) {
    this.world = world
    this.chance = chance
    this.shards = shards
  }

  /** The process that has the lock of a conversation. */
  ownerOf(conversation: string): Process | undefined {
    const holder = this.holders.get(this.shardOf(conversation))
    return holder !== undefined && this.isOpen(holder) ? holder.owner : undefined
  }

  /** Of what the lock of a conversation is, or was: a process that has lost it and gets it again has another session. */
  sessionFor(conversation: string): object | undefined {
    return this.holders.get(this.shardOf(conversation))
  }

  /** Milliseconds since the database confirmed the lock of a conversation to a process. */
  confirmedMs(owner: Process, conversation: string): number {
    return this.world.now - (this.confirmed.get(owner)?.get(this.shardOf(conversation)) ?? -Infinity)
  }

  /** Cuts the session of a process, whose locks are free at once. */
  cut(owner: Process): void {
    this.sessions.delete(owner)
  }

  /** The processes that hold locks, and how many. */
  shares(): ReadonlyMap<Process, number> {
    const counts = new Map<Process, number>()
    for (const session of this.holders.values())
      if (this.isOpen(session)) counts.set(session.owner, (counts.get(session.owner) ?? 0) + 1)
    return counts
  }

  /** The storage of one process. */
  storageOf(owner: Process): RunnerStorage.RunnerStorage["Service"] {
    const query = <A>(kind: string, act: () => A): Effect.Effect<A, ClusterError.PersistenceError> =>
      Effect.callback((resume) => {
        const { world } = this
        this.queries.set(kind, (this.queries.get(kind) ?? 0) + 1)
        world.after(this.chance.between(0, 3), () => {
          if (!owner.isAlive) return
          const answer = act()
          world.within(owner, () =>
            resume(
              answer instanceof Error
                ? Effect.fail(new ClusterError.PersistenceError({ cause: answer }))
                : Effect.succeed(answer)
            )
          )
        })
      })
    const now = () => this.world.now
    return RunnerStorage.RunnerStorage.of({
      getRunners: query("runners", () => this.present()),
      register: (runner, isHealthy) =>
        query("register", () => {
          const address = PrimaryKey.value(runner.address)
          const machine = this.runners.get(address)?.machine ?? this.runners.size + 1
          this.runners.set(address, { runner, machine, isHealthy, beatAt: now() })
          this.listed = undefined
          return MachineId.make(machine)
        }),
      unregister: (address) =>
        query("unregister", () => {
          this.runners.delete(PrimaryKey.value(address))
          this.listed = undefined
        }),
      setRunnerHealth: (address, isHealthy) =>
        query("health", () => {
          const runner = this.runners.get(PrimaryKey.value(address))
          if (runner !== undefined) runner.isHealthy = isHealthy
          this.listed = undefined
        }),
      acquire: (_address, shards) =>
        query("acquire", () => {
          const session = this.sessionOf(owner) ?? this.openedBy(owner)
          return Array.from(shards).filter((shard) => {
            const holder = this.holders.get(shard)
            if (holder !== undefined && holder !== session && this.isOpen(holder)) return false
            this.holders.set(shard, session)
            return this.confirm(owner, shard)
          })
        }),
      refresh: (address, asked) =>
        query("refresh", (): Array<ShardId.ShardId> | Error => {
          const shards = Array.from(asked)
          const runner = this.runners.get(PrimaryKey.value(address))
          if (runner !== undefined) {
            if (now() - runner.beatAt > Lease.EXPIRATION_MS) this.listed = undefined
            runner.beatAt = now()
          }
          if (shards.length === 0) return []
          const session = this.sessionOf(owner)
          if (session === undefined) {
            this.openedBy(owner)
            return new Error("terminating connection due to idle-session timeout")
          }
          return shards.filter((shard) => this.holders.get(shard) === session && this.confirm(owner, shard))
        }) as Effect.Effect<Array<ShardId.ShardId>, ClusterError.PersistenceError>, // an error fails it
      release: (_address, shard) =>
        query("release", () => {
          if (this.holders.get(shard) === this.sessions.get(owner)) this.holders.delete(shard)
        }),
      releaseAll: () => query("release", () => this.cut(owner))
    })
  }

  // --- internal

  /** The runners that are there: one list for all that ask, until a row changes or has its last sign of life too long ago. */
  private present(): Array<readonly [Runner.Runner, boolean]> {
    const { now } = this.world
    if (this.listed === undefined || now > this.listed.until) {
      const rows = Array.from(this.runners.values()).filter(({ beatAt }) => now - beatAt <= Lease.EXPIRATION_MS)
      const until = rows.reduce((first, { beatAt }) => Math.min(first, beatAt), now) + Lease.EXPIRATION_MS
      this.listed = { until, runners: rows.map(({ isHealthy, runner }) => [runner, isHealthy]) }
    }
    return this.listed.runners
  }

  /** As `Sharding` has it. */
  private shardOf(conversation: string): ShardId.ShardId {
    return ShardId.make("default", Math.abs(Hash.string(conversation) % this.shards) + 1)
  }

  private confirm(owner: Process, shard: ShardId.ShardId): true {
    const known = this.confirmed.get(owner) ?? new Map<ShardId.ShardId, number>()
    this.confirmed.set(owner, known.set(shard, this.world.now))
    return true
  }

  private isOpen(session: Session): boolean {
    const { owner, usedAt } = session
    return owner.isAlive && this.sessions.get(owner) === session && this.world.now - usedAt <= Lease.EXPIRATION_MS
  }

  /** The open session of a process, which is used now. */
  private sessionOf(owner: Process): Session | undefined {
    const session = this.sessions.get(owner)
    if (session === undefined || !this.isOpen(session)) return undefined
    session.usedAt = this.world.now
    return session
  }

  private openedBy(owner: Process): Session {
    const session = { owner, usedAt: this.world.now }
    this.sessions.set(owner, session)
    return session
  }
}

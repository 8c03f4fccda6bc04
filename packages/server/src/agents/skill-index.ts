/** The index by which programs find skills: Agent Skills discovery, draft 0.2.0. */
const schema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

const frontmatter = (skill: string, member: string): string =>
  new RegExp(`^${member}: (.+)$`, 'm').exec(skill.split('\n---\n')[0]!)![1]!

/** `skill` is the text that the same server sends to the same address: programs compare its digest. */
export const skillIndex = (skill: string, baseUrl: string): string => {
  const digest = new Bun.CryptoHasher('sha256').update(skill).digest('hex')
  const entry = {
    name: frontmatter(skill, 'name'),
    type: 'skill-md',
    description: frontmatter(skill, 'description'),
    url: `${baseUrl}/SKILL.md`,
    digest: `sha256:${digest}`,
  }
  return `${JSON.stringify({ $schema: schema, skills: [entry] }, null, 2)}\n`
}

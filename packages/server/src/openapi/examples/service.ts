import packageJson from '../../../package.json' with { type: 'json' }
import type { HttpExample } from './http-example.ts'

export const getEntryPoint: HttpExample[] = [
  {
    name: 'program',
    summary: 'For a program',
    status: 200,
    response: {
      name: 'Cubby',
      version: packageJson.version,
      docs: 'http://127.0.0.1:4600/docs',
      openapi: 'http://127.0.0.1:4600/openapi.json',
      console: 'http://127.0.0.1:4600/console',
      skill: 'http://127.0.0.1:4600/SKILL.md',
      llms: 'http://127.0.0.1:4600/llms.txt',
      mcp: 'http://127.0.0.1:4600/mcp',
    },
  },
]

export const checkHealth: HttpExample[] = [{ name: 'alive', summary: 'Alive', status: 200, response: { status: 'ok' } }]

export const checkReadiness: HttpExample[] = [
  { name: 'ready', summary: 'Ready', status: 200, response: { status: 'ready' } },
]

export const getDescription: HttpExample[] = [
  {
    name: 'description',
    summary: 'This document, shortened',
    status: 200,
    response: { openapi: '3.1.0', info: { title: 'Cubby' } },
  },
]

export const getDocsPage: HttpExample[] = [
  {
    name: 'page',
    summary: 'The page, shortened',
    status: 200,
    response: '<!doctype html>\n<html lang="en">',
    contentType: 'text/html',
  },
]

export const getDocsText: HttpExample[] = [
  {
    name: 'text',
    summary: 'The text, shortened',
    status: 200,
    response: '# HTTP API\n',
    contentType: 'text/markdown',
  },
]

export const getSkill: HttpExample[] = [
  {
    name: 'skill',
    summary: 'The skill, shortened',
    status: 200,
    response: '---\nname: cubby\n',
    contentType: 'text/markdown',
  },
]

export const getSkillIndex: HttpExample[] = [
  {
    name: 'index',
    summary: 'The index, with a shortened description',
    status: 200,
    response: {
      $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
      skills: [
        {
          name: 'cubby',
          type: 'skill-md',
          description: 'Store, find and change JSON records, files and background work …',
          url: 'http://127.0.0.1:4600/SKILL.md',
          digest: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        },
      ],
    },
  },
]

export const getLlmsText: HttpExample[] = [
  {
    name: 'list',
    summary: 'The list, shortened',
    status: 200,
    response: '# Cubby\n',
    contentType: 'text/plain',
  },
]

export const preflight: HttpExample[] = [
  {
    name: 'put',
    summary: 'May a page send PUT?',
    parameters: { 'Access-Control-Request-Method': 'PUT' },
    status: 204,
    headers: { 'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
  },
]

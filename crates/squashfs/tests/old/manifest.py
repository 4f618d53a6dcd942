import os,sys,stat,zlib
root=sys.argv[1]
def esc(b): return ''.join(chr(c) if 33<=c<127 and c!=92 else '\\x%02x'%c for c in b)
out=[]
def walk(p,rel):
    for n in sorted(os.listdir(p)):
        f=os.path.join(p,n); r=rel+b'/'+n if rel else n
        s=os.lstat(f); m=s.st_mode
        if stat.S_ISDIR(m): k,d='directory','-'
        elif stat.S_ISREG(m):
            c=open(f,'rb').read(); k,d='file','%d:%08x'%(len(c),zlib.crc32(c))
        elif stat.S_ISLNK(m): k,d='symlink',esc(os.readlink(f))
        elif stat.S_ISCHR(m): k,d='char','%d:%d'%(os.major(s.st_rdev),os.minor(s.st_rdev))
        elif stat.S_ISBLK(m): k,d='block','%d:%d'%(os.major(s.st_rdev),os.minor(s.st_rdev))
        elif stat.S_ISFIFO(m): k,d='fifo','-'
        else: k,d='socket','-'
        out.append('%s %s %04o %d:%d %s'%(esc(r),k,m&0o7777,s.st_uid,s.st_gid,d))
        if stat.S_ISDIR(m): walk(f,r)
walk(os.fsencode(root),b'')
out.sort()
print('\n'.join(out))

/* A program with two copies of the library, configured differently. */
int copy_scalar(void);
int copy_best(void);

int main(void)
{
    return !(copy_scalar() && copy_best());
}
